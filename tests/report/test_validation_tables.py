"""What the page says about repeats and the outer loop."""

from __future__ import annotations

import numpy as np

import separatrix as sx
from separatrix.report.tables import (
    fitted_sentence,
    nested_sentence,
    nested_table,
    repeats_sentence,
    repeats_table,
)


def test_repeats_and_outer_folds_have_tables_and_sentences() -> None:
    rng = np.random.default_rng(2)
    a = rng.standard_normal(60)
    rows = sx.scan({"a": a, "y": 2 * a + rng.standard_normal(60)}, target="y")
    study = sx.run_study(rows, models=["linear"], repeats=3, nested=True)
    table, outer = repeats_table(study), nested_table(study)
    assert table is not None
    assert [line.name for line in table.lines] == ["linear", "baseline"]
    assert table.lines[0].cells[-1].text == "3 of 3"
    assert outer is not None
    assert len(outer.lines) == 5
    assert "15 times" in fitted_sentence(study)
    assert "(1/15 + 0.25)" in repeats_sentence(study)
    assert "5 outer folds" in nested_sentence(study)
    once = sx.run_study(rows, models=["linear"])
    assert repeats_table(once) is None
    assert nested_sentence(once) == ""
    assert "fitted 5 times" in fitted_sentence(once)
