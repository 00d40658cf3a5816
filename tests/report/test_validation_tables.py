"""What the page says about repeats and the outer loop."""

from __future__ import annotations

import numpy as np

import separatrix as sx
from separatrix.report import validation_tables


def test_repeats_and_outer_folds_have_tables_and_sentences() -> None:
    rng = np.random.default_rng(2)
    a = rng.standard_normal(60)
    rows = sx.scan({"a": a, "y": 2 * a + rng.standard_normal(60)}, target="y")
    study = sx.run_study(rows, models=["linear"], repeats=3, nested=True)
    table, outer = validation_tables.repeats_table(study), validation_tables.nested_table(study)
    assert table is not None
    assert [line.name for line in table.lines] == ["linear", "baseline"]
    assert table.lines[0].cells[-1].text == "3 of 3"
    assert outer is not None
    assert len(outer.lines) == 5
    assert "15 times" in validation_tables.fitted_sentence(study)
    assert "(1/15 + 0.25)" in validation_tables.repeats_sentence(study)
    assert "5 outer folds" in validation_tables.nested_sentence(study)
    once = sx.run_study(rows, models=["linear"])
    assert validation_tables.repeats_table(once) is None
    assert validation_tables.nested_sentence(once) == ""
    assert "fitted 5 times" in validation_tables.fitted_sentence(once)
