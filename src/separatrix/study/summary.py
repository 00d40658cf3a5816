"""A study in words: the leaderboard, why a model was chosen, and its test scores."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from separatrix.formatting import number, score_info, score_text
from separatrix.notebook import BAD, Details, Grid, Heading, Item, Sentence
from separatrix.study.candidates import display_name

if TYPE_CHECKING:
    from separatrix.study.result import (
        CrossValidatedScore,
        Decision,
        Entry,
        Nested,
        Repeats,
        Score,
        ScoresOfClass,
        Study,
    )

#: Scores that follow from others, or have a sentence of their own.
NOT_LISTED = ("accuracy", "cost", "coverage", "risk")
#: The beginning of the line on the choice.
CHOSEN = "Chosen: "


def scheme_text(study: Study) -> str:
    """How models were validated, in a few words."""
    if study.validation == "leave_one_out":
        return "leave-one-out"
    repeats = study.repeats
    return "" if repeats is None else f"{repeats.n_repeats} × {repeats.n_folds} folds"


def display(study: Study) -> list[Item]:
    """What a study shows of itself: leaderboard, choice, test scores, and what was inferred."""
    what = f"{study.task.capitalize()} of {study.target}" + f", {study.source}" * bool(study.source)
    return [
        Heading(f"{what}: {study.n_train:,} training rows, {study.n_test:,} test rows"),
        leaderboard(study.leaderboard, study.winner, scheme_text(study)),
        *map(Sentence, verdict(study)),
        *(Sentence(text, BAD, "warning") for text in study.warnings),
        Details("What was inferred", study.messages),
    ]


def leaderboard(entries: Sequence[Entry], winner: str, scheme: str = "") -> Grid:
    """Cross-validated errors, best first, the chosen model marked; of classes both metrics."""
    ordered = best_first(entries)
    first = ordered[0]
    heads = ["model", f"{score_info(first.metric).short}, {scheme or f'{len(first.folds)} folds'}"]
    if first.secondary is not None:
        heads.append(score_info(first.secondary.metric).short)
    lines, chosen, decimals = [], None, _decimals(first)
    for i, entry in enumerate(ordered):
        won = entry.name == winner
        chosen = i if won else chosen
        marks = ("★" if entry is first and entry.folds else " ") + ("→" if won else " ")
        cells = [f"{marks} {display_name(entry.name)}", _with_error(entry, decimals)]
        if first.secondary is not None:
            other = entry.secondary
            cells.append("–" if other is None else _with_error(other, _decimals(first.secondary)))
        mark = "*" if entry.calibrated else ""
        lines.append([*cells, f"{label_of(entry)}{mark}" if entry.folds else entry.note])
    caption = "→ chosen   ★ best mean"
    caption += "   * calibrated" if any(entry.calibrated for entry in entries) else ""
    return Grid([*heads, "method"], lines, frozenset({0, len(heads)}), chosen, caption)


def best_first(entries: Sequence[Entry]) -> list[Entry]:
    """Candidates, best mean first; those without a score last."""

    def rank(entry: Entry) -> tuple[bool, float]:
        sign = -1 if score_info(entry.metric).higher_is_better else 1
        return not math.isfinite(entry.mean), sign * entry.mean

    return sorted(entries, key=rank)


def label_of(entry: Entry) -> str:
    """What a candidate's label adds to its name."""
    label = entry.label.strip()
    if label.lower().startswith(display_name(entry.name).lower()):
        label = label[len(entry.name) :]
    return label.lstrip(" ,:–-")


def _decimals(score: Entry | CrossValidatedScore) -> int | None:
    """Decimals of a mean as scores are written; None of one that is written without them."""
    text = score_text(score.mean, score.metric)
    whole = not math.isfinite(score.mean) or score.mean == round(score.mean)
    return None if whole or "e" in text else len(text.partition(".")[2])


def _with_error(score: Entry | CrossValidatedScore, decimals: int | None = None) -> str:
    """A mean ± its standard error, to the decimals that the mean has wherever it is written.

    ``decimals`` are those of a column of such numbers.
    """
    mean, error = score.mean, score.standard_error
    if math.isnan(mean):
        return "–"
    if score_info(score.metric).is_rate:
        return f"{100 * mean:.1f} ± {100 * error:.1f} %"
    if decimals is None:
        decimals = _decimals(score)
    if decimals is None or not max(abs(mean), error) < 1e7:
        return f"{score_text(mean, score.metric)} ± {number(error, 2)}"
    return f"{mean:,.{decimals}f} ± {error:,.{decimals}f}".replace("-", "−")


def verdict(study: Study) -> list[str]:
    """The chosen model, its test scores, the cost of its decisions, and the certificate."""
    shown = [s for s in study.test if s.metric not in NOT_LISTED]
    first = shown[0]
    baseline = next((s for s in study.baseline_test if s.metric == first.metric), None)
    beside = (
        "" if baseline is None else f" (baseline {score_text(baseline.value, baseline.metric)})"
    )
    scores = ", ".join(f"{_score(s)}{beside if s is first else ''}" for s in shown)
    return [
        *_reference(study.reference),
        f"{chosen(study.winner, study.reason)}{_other_rule(study)}",
        *summarize_validation(study),
        f"{_summarize_test(study)}: {scores}.",
        *_by_class(study.class_scores),
        *([] if study.decision is None else [_decisions(study.decision)]),
        *(f"Rule for {rule}" for rule in study.description.rules),
        f"Certificate: {study.description.certificate}",
    ]


def _summarize_test(study: Study) -> str:
    """What the scores are of."""
    if study.stream is not None and study.stream.simulated:
        return f"Simulated rows with the moments of the test set ({study.n_test} rows)"
    return f"Held-out test set ({study.n_test} rows, used once)"


def chosen(winner: str, reason: str) -> str:
    """The chosen model and why."""
    shown = display_name(winner)
    return f"{CHOSEN}{shown}. {re.sub(f'^{re.escape(shown)} ', 'It ', reason)}"


def _other_rule(study: Study) -> str:
    """What the other goal would have taken, where that is another model, and how far apart."""
    choice = study.choice
    if choice is None or choice.other_rule_winner in ("", choice.winner):
        return ""
    entry, score = choice.other, ""
    if entry is not None:
        score = f", {score_info(entry.metric).within_sentence} {_with_error(entry)}"
        score += _apart(entry, next((e for e in study.leaderboard if e.name == study.winner), None))
    other = display_name(choice.other_rule_winner)
    return f' With `goal="{choice.other_goal}"`: {other}{score}.'


def _apart(other: Entry, own: Entry | None) -> str:
    """By what share another mean is less or more than that of the chosen model."""
    if own is None or not own.mean > 0.0 or not math.isfinite(other.mean / own.mean):
        return ""
    share = 100.0 * (other.mean / own.mean - 1.0)
    return f" ({abs(share):.0f} % {'less' if share < 0.0 else 'more'})"


def _reference(entry: Entry | None) -> list[str]:
    """The reference, which is not a candidate, against the winner."""
    if entry is None:
        return []
    score = f"{score_info(entry.metric).short} {_with_error(entry)}"
    return [f"{entry.label.capitalize()} ({entry.name}): {score}. {entry.note}"]


def _by_class(scores_of_class: Sequence[ScoresOfClass]) -> list[str]:
    """Precision and recall of each of a few classes."""
    # Classes up to which each has its precision and recall here; the page has them all.
    if not 0 < len(scores_of_class) <= 6:
        return []
    each = (
        f"{by_class.label} precision {score_text(by_class.precision.value, 'precision')}, "
        f"recall {score_text(by_class.recall.value, 'recall')} of {number(by_class.support)} rows"
        for by_class in scores_of_class
    )
    return [f"By class: {'; '.join(each)}."]


def _decisions(decision: Decision) -> str:
    """Cost of the decisions of least expected cost on the test set."""
    costs = f"mean cost {_value(decision.cost)}"
    without = f"{score_text(decision.cost_without.value, 'cost')} for the most probable class"
    if decision.costs.reject_cost is None:
        return f"Decisions of least expected cost: {costs} ({without})."
    if math.isnan(decision.risk.value):
        return f"With the reject option: every row is rejected; {costs} ({without})."
    return (
        f"With the reject option: coverage {_value(decision.coverage)}, risk "
        f"{_value(decision.risk)}; {costs}, rejections included ({without})."
    )


def _score(score: Score) -> str:
    return f"{score_info(score.metric).short} {_value(score)}"


def _value(score: Score) -> str:
    value, low, high = (score_text(v, score.metric) for v in (score.value, score.low, score.high))
    return f"{value} [{low}, {high}]"


# -------------------------------------------------------------------------------------------------
# Repeats and nested selection.


def summarize_validation(study: Study) -> list[str]:
    """A line on the repeats, and one on the outer loop, where there are any."""
    lines = [] if study.repeats is None else [_repeats(study.repeats, study.winner)]
    return lines if study.nested is None else [*lines, _summarize_nested(study.nested)]


def _repeats(repeats: Repeats, winner: str) -> str:
    winner_score = next((score for score in repeats.scores if score.name == winner), None)
    if winner_score is None:
        return repeats.summary
    name = score_info(repeats.metric).short
    text = (
        f"{repeats.n_repeats} repeats of {repeats.n_folds} folds: {display_name(winner)} is chosen "
        f"in {winner_score.chosen}; "
        f"{name} {score_text(winner_score.mean, repeats.metric)}, standard deviation over repeats "
        f"{number(winner_score.spread, 2)}"
    )
    if math.isfinite(winner_score.corrected_error):
        text += f", corrected standard error {number(winner_score.corrected_error, 2)}"
    return f"{text}."


def _summarize_nested(nested: Nested) -> str:
    if not nested.folds:
        return nested.summary
    name = score_info(nested.metric).short
    return (
        f"The selection judged by an outer loop: {name} "
        f"{score_text(nested.outer, nested.metric)} ± "
        f"{number(nested.standard_error, 2)} outside, {score_text(nested.inner, nested.metric)} "
        f"inside; optimism {number(nested.optimism, 2)}. {nested.summary}"
    )
