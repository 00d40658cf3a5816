"""How models were validated: folds, repeats, leave-one-out, and the outer loop of the selection."""

from __future__ import annotations

import math
from collections.abc import Callable

from separatrix.pictures.formatting import number, plural, score_info, score_text
from separatrix.report.tables import Cell, Line, Table, figure, ordered_entries
from separatrix.report.verdict import display_name
from separatrix.study.result import Study
from separatrix.study.validation.records import Nested, RepeatedScore


def fitted_sentence(study: Study) -> str:
    """How often each candidate was fitted, and to what; empty where no folds were used."""
    folds = max((len(e.folds) for e in study.leaderboard), default=0)
    rows = f"{study.n_train:,} training rows"
    if folds < 2:
        return ""
    if study.validation == "leave_one_out":
        return (
            f"Each row of the {rows} (or each group of them) was predicted by models of all others "
            "(leave-one-out)."
        )
    if study.repeats is not None:
        each, times = study.repeats.n_folds, study.repeats.n_repeats
        return (
            f"The {rows} were dealt into {each} folds {times} times. Each candidate was fitted "
            f"{each * times} times, each time without one fold, and validated on that fold; a "
            f"row’s loss is its mean over the repeats."
        )
    return (
        f"Each candidate was fitted {folds} times on the {rows}, each time without one fold, and "
        "validated on that fold."
    )


def repeats_sentence(study: Study) -> str:
    """What the repeats show, and what their errors mean."""
    found = study.repeats
    if found is None:
        return ""
    text = found.summary[:1].upper() + found.summary[1:]
    if math.isnan(found.ratio):
        return (
            f"{text} Repeats cut the folds at other times; standard errors are not corrected, "
            "since folds in order of time are no random draws."
        )
    return (
        f"{text} The standard deviation over repeats says how much the draw of the folds matters; "
        "it is no standard error. The corrected one (Nadeau and Bengio) allows for training rows "
        f"that folds share: √((1/{found.n_repeats * found.n_folds} + {found.ratio:.2g}) s²) over "
        "all folds."
    )


def repeats_table(study: Study) -> Table | None:
    """Every candidate over the repeats; None without repeats."""
    found = study.repeats
    if found is None:
        return None
    corrected = not math.isnan(found.ratio)
    heads = [
        ("Model", False),
        (f"{score_info(found.metric).short}, mean", True),
        ("Std. deviation over repeats", True),
        *([("Corrected std. error", True)] if corrected else []),
        ("Difference from the winner", True),
        ("Chosen in", True),
    ]
    lines = tuple(
        Line(
            display_name(score.name),
            (
                figure(score.mean, score_text(score.mean, found.metric)),
                figure(score.spread, number(score.spread, 2)),
                *([figure(score.corrected_error, _error(score))] if corrected else []),
                figure(score.difference, _apart(score, study.winner, corrected)),
                figure(score.chosen, f"{score.chosen} of {found.n_repeats}"),
            ),
            strong=score.name == study.winner,
        )
        for score in sorted(found.scores, key=_rank(study))
    )
    return Table(tuple(heads), lines)


def _rank(study: Study) -> Callable[[RepeatedScore], int]:
    """The place of a candidate on the leaderboard, best first."""
    names = [entry.name for entry in ordered_entries(study)]
    return lambda score: names.index(score.name)


def _error(score: RepeatedScore) -> str:
    return number(score.corrected_error, 2)


def _apart(score: RepeatedScore, winner: str, corrected: bool) -> str:
    if score.name == winner or math.isnan(score.difference):
        return "–"
    text = number(score.difference, 3)
    return f"{text} ± {number(score.difference_error, 2)}" if corrected else text


def nested_sentence(study: Study) -> str:
    """The score of the whole selection, and how much better it looked from inside."""
    found = study.nested
    if found is None:
        return ""
    if not found.folds:
        return found.summary
    name, metric = score_info(found.metric).short, found.metric
    return (
        "The whole selection (comparison, tuning, choice, fit) was repeated without each of "
        f"{plural(len(found.folds), 'outer fold')} and judged there: {name} "
        f"{score_text(found.outer, metric)} ± {number(found.standard_error, 2)}. Inside, the "
        f"winners had {score_text(found.inner, metric)}: {_optimism(found)} {found.summary}"
    )


def _optimism(found: Nested) -> str:
    size = number(abs(found.optimism), 2)
    if abs(found.optimism) <= found.standard_error:
        return (
            f"an optimism of {number(found.optimism, 2)}, within the standard error of the outer "
            "score."
        )
    if found.optimism > 0:
        return f"an optimism of {size}; expect the outer score of new rows, not the inner one."
    return f"the inner score is worse by {size}: inner models were fitted to fewer rows."


def nested_table(study: Study) -> Table | None:
    """What was chosen without each outer fold; None without an outer loop."""
    found = study.nested
    if found is None or not found.folds:
        return None
    heads = (
        ("Outer fold", False),
        ("Rows", True),
        ("Chosen", False),
        ("Tuned", False),
        ("Score inside", True),
        ("Score outside", True),
    )
    lines = tuple(
        Line(
            str(at + 1),
            (
                figure(fold.n_rows, f"{fold.n_rows:,}"),
                Cell(display_name(fold.winner)),
                Cell(", ".join(f"{n} {_value(v)}" for n, v in fold.hyperparameters.items()) or "–"),
                figure(fold.inner, score_text(fold.inner, found.metric)),
                figure(fold.outer, score_text(fold.outer, found.metric)),
            ),
        )
        for at, fold in enumerate(found.folds)
    )
    return Table(heads, lines)


def _value(value: object) -> str:
    return number(value, 3) if isinstance(value, int | float) else str(value)
