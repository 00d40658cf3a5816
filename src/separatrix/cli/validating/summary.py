"""What ``fit`` prints about repeats and nested selection."""

from __future__ import annotations

import math

from separatrix.pictures.formatting import number, score_info, score_text
from separatrix.study.result import Study
from separatrix.study.validation.records import Nested, Repeats


def validated(study: Study) -> list[str]:
    """A line on the repeats, and one on the outer loop, where there are any."""
    found = [] if study.repeats is None else [_repeats(study.repeats, study.winner)]
    return found if study.nested is None else [*found, _nested(study.nested)]


def _repeats(found: Repeats, winner: str) -> str:
    own = next((score for score in found.scores if score.name == winner), None)
    if own is None:
        return found.summary
    name = score_info(found.metric).short
    text = (
        f"{found.n_repeats} repeats of {found.n_folds} folds: {winner} is chosen in {own.chosen}; "
        f"{name} {score_text(own.mean, found.metric)}, standard deviation over repeats "
        f"{number(own.spread, 2)}"
    )
    if math.isfinite(own.corrected_error):
        text += f", corrected standard error {number(own.corrected_error, 2)}"
    return f"{text}."


def _nested(found: Nested) -> str:
    if not found.folds:
        return found.summary
    name = score_info(found.metric).short
    return (
        f"The selection judged by an outer loop: {name} {score_text(found.outer, found.metric)} ± "
        f"{number(found.standard_error, 2)} outside, {score_text(found.inner, found.metric)} "
        f"inside; optimism {number(found.optimism, 2)}. {found.summary}"
    )
