"""Boxes as a candidate: only if named, with their rules in words."""

from __future__ import annotations

import separatrix as sx
from separatrix.samples import sample
from separatrix.study.candidates import Size, candidates
from separatrix.study.tasks import CLASSIFICATION


def test_boxes_are_compared_if_named_and_give_their_rules() -> None:
    usual, _ = candidates(CLASSIFICATION, None, Size(100, 4, 3))
    assert "boxes" not in {candidate.name for candidate in usual}
    study = sx.run_study(sx.scan(str(sample("wine").path), target="cultivar"), models=["boxes"])
    assert study.winner == "boxes"
    rules = study.description.rules
    assert [rule.split(":")[0] for rule in rules] == ["cultivar A", "cultivar B", "cultivar C"]
    assert "alcohol" in rules[0]
    assert "training rows" in str(study.description.stored_rows)
