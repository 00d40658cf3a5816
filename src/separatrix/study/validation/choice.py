"""The choice among candidates that were compared once, or on several sets of folds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from separatrix.study.comparison.averaging import Averageable, Chosen, choose_winner
from separatrix.study.comparison.options import Options
from separatrix.study.design import StudyDesign
from separatrix.study.progress import Step, tell_compared
from separatrix.study.validation.nested import Procedure, nested_selection
from separatrix.study.validation.repeats import about_repeats, repeated_comparison

C = TypeVar("C", bound=Averageable)


def choose_validated(
    compared: C, design: StudyDesign, options: Options, procedure: Procedure, step: Step
) -> tuple[C, Chosen, dict[str, Any]]:
    """The winner, told to a listener; the comparison it comes from; what a study says about it.

    Repeats choose by mean losses; predictions, tuned parameters and calibration stay those of the
    first. The outer loop judges the procedure, and changes nothing in the choice.
    """
    wanted, repeats = options.validation, None
    if wanted.repeats > 1:
        together = repeated_comparison(
            compared.comparison,
            design,
            lambda other, step: procedure.compare(other, step).comparison,
            wanted.repeats,
            step,
        )
        data: Any = compared
        compared = replace(data, comparison=together)
    chosen = choose_winner(compared, options)
    choice = chosen.choice
    if wanted.repeats > 1:
        repeats = about_repeats(together, design.folds, choice.winner, options.rule)
    tell_compared(design.progress, chosen.entries, choice.winner, choice.reason)
    nested = nested_selection(design, procedure, step) if wanted.nested else None
    scheme = design.folds.scheme
    return compared, chosen, {"validation": scheme, "repeats": repeats, "nested": nested}
