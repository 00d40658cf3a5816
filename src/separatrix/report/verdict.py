"""The summary at the top of the page: the question, the chosen model, and its test score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import PurePath

from separatrix.formatting import ScoreInfo, join_words, number, plural, score_info, score_text
from separatrix.study import findings, result
from separatrix.study.candidates import display_name


@dataclass(frozen=True)
class Tile:
    """A headline number, or a ``word``, with its label."""

    value: str
    label: str
    detail: str
    word: bool = False


def source_name(study: result.Study) -> str:
    """The table's name without its directory."""
    return PurePath(study.source).name or study.source


def sentences(study: result.Study) -> list[str]:
    """The verdict, one sentence after the other."""
    return [_question(study), _won(study), *_describe_measures(study)]


def _question(study: result.Study) -> str:
    count = len([c for c in study.columns if c.name != study.target])
    others = f"the {count:,} other columns" if count > 1 else "the other column"
    rows = plural(study.n_train + study.n_test, "row")
    kinds = ""
    if study.task == "classification" and study.classes:
        kinds = f" ({plural(len(study.classes), 'class', 'classes')})"
    return (
        f"How well can {study.target}{kinds} be predicted from {others} of "
        f"{source_name(study)} ({rows})?"
    )


def reason(study: result.Study) -> str:
    """Why the winner was taken, as a sentence of its own."""
    text = study.reason.strip().replace(study.winner, display_name(study.winner), 1)
    return text[:1].upper() + text[1:]


def other_choice(study: result.Study) -> str:
    """What the other goal would have taken; empty where nothing was chosen among several."""
    choice = study.choice
    several = len([e for e in study.leaderboard if not findings.is_baseline(e.name)]) > 1
    if (
        choice is None
        or not several
        or findings.is_baseline(choice.winner)
        or not choice.other_rule_winner
    ):
        return ""
    what = "`--goal accuracy`, which takes the smallest loss,"
    if choice.rule == "best":
        what = "`--goal simplicity`, which takes the simplest model that is as good as the best,"
    same = choice.other_rule_winner == choice.winner
    other = "the same model" if same else display_name(choice.other_rule_winner)
    entry = choice.other
    if entry is not None:
        own = findings.winner_of(study)
        beside = "" if own is None else f" (here: {score_text(own.mean, own.metric)})"
        score = f"{score_info(entry.metric).within_sentence} {score_text(entry.mean, entry.metric)}"
        other += f", with a cross-validated {score}{beside}"
        other += f": {entry.note}" if entry.note else ""
    return f"{what} would have chosen {other}."


def reference_text(study: result.Study) -> str:
    """What the line of the reference says, which is not a candidate; empty without one."""
    entry = study.reference
    if entry is None:
        return ""
    return entry.note.replace(study.winner, display_name(study.winner))


def _won(study: result.Study) -> str:
    count = len([e for e in study.leaderboard if not findings.is_baseline(e.name)])
    if findings.is_baseline(study.winner):
        tried = plural(count, "model")
        return f"None of {tried} beats the baseline, which uses no column."
    if count < 2:
        return f"{display_name(study.winner).capitalize()} was fitted."
    return f"Of {plural(count, 'model')} compared, {display_name(study.winner)} was chosen."


def _describe_measures(study: result.Study) -> list[str]:
    pair = findings.main_scores(study)
    if pair is None:
        return ["There is no test set, so its generalization error is unknown."]
    score, base = pair
    known = score_info(score.metric)
    lines = [
        f"On the held-out test set of {plural(study.n_test, 'row')}, its {known.description} is "
        f"{score_text(score.value, score.metric)}{_interval(score)}."
    ]
    if base is None or findings.is_baseline(study.winner):
        return lines
    lines.append(
        f"The baseline’s is {score_text(base.value, base.metric)}{_interval(base)}: "
        f"{_comparison(score, base, known)}."
    )
    if score.value != base.value and findings.may_be_chance(study, score, base):
        lines.append(f"On {plural(study.n_test, 'test row')} this difference may be due to chance.")
    return [*lines, *_also(study, score), *_rejections(study)]


def _also(study: result.Study, own_score: result.Score) -> list[str]:
    """The metric of the leaderboard, where it is another one."""
    score = findings.chosen_by(study)
    if score is None or score.metric == own_score.metric:
        return []
    base = findings.counterpart(study, score.metric)
    beside = "" if base is None else f" (the baseline’s: {score_text(base.value, base.metric)})"
    name = score_info(score.metric).within_sentence
    if len([e for e in study.leaderboard if not findings.is_baseline(e.name)]) > 1:
        name = f"{name}, by which models were compared,"
    return [f"The {name} is {score_text(score.value, score.metric)}{beside}."]


def _rejections(study: result.Study) -> list[str]:
    """Coverage, risk and cost with the reject option."""
    made = study.decision
    if made is None or made.costs.reject_cost is None:
        return []
    return [
        f"With the reject option its coverage is {score_text(made.coverage.value, 'coverage')}, at "
        f"a risk (mean cost) of {score_text(made.risk.value, 'risk')}; the mean cost of all rows, "
        f"rejections included, is {score_text(made.cost.value, 'cost')}, against "
        f"{score_text(made.cost_without.value, 'cost')} without rejections."
    ]


def _interval(score: result.Score) -> str:
    if not (math.isfinite(score.low) and math.isfinite(score.high)):
        return ""
    low, high = score_text(score.low, score.metric), score_text(score.high, score.metric)
    return f" (95 % interval {low} to {high})"


def _comparison(score: result.Score, base: result.Score, known: ScoreInfo) -> str:
    if known.higher_is_better:
        change = score.value - base.value
        size = f"{abs(100 * change):.1f} points" if known.is_rate else number(abs(change), 3)
        return f"the model’s is {size} {'higher' if change >= 0 else 'lower'}"
    if base.value == 0:
        return "the baseline makes no error at all"
    change = 100 * (1 - score.value / base.value)
    if round(change) == 0:
        return "the model’s is as large"
    return f"the model’s is {abs(change):.0f} % {'lower' if change >= 0 else 'higher'}"


def tiles(study: result.Study) -> list[Tile]:
    """The size of the error, whether the baseline is beaten, one more score, leading columns."""
    shown: list[Tile] = []
    pair = findings.main_scores(study)
    if pair is not None:
        score, base = pair
        label = f"{score_info(score.metric).short} on {plural(study.n_test, 'test row')}"
        shown.append(Tile(score_text(score.value, score.metric), label, _ends(score)))
        if base is not None:
            shown.append(_against_baseline(study, score, base))
        other = findings.chosen_by(study)
        if other is None or other.metric == score.metric:
            other = next((s for s in study.test if s.metric != score.metric), None)
        if other is not None:
            value = score_text(other.value, other.metric)
            shown.append(Tile(value, score_info(other.metric).short, _ends(other)))
    leading = leading_columns(study)
    if leading:
        rest = f"then {join_words(leading[1:])}" if leading[1:] else ""
        shown.append(Tile(leading[0], "What matters most", rest, word=True))
    return shown


def _against_baseline(study: result.Study, score: result.Score, base: result.Score) -> Tile:
    """Whether the model is better than the baseline, and by how much."""
    label = "Better than the baseline"
    beside = f"baseline {score_text(base.value, base.metric)}"
    if findings.is_baseline(study.winner):
        return Tile("No", label, "no model is")
    known = score_info(score.metric)
    if findings.is_worse(score, base):
        return Tile("No", label, beside)
    if findings.may_be_chance(study, score, base):
        return Tile("Not shown", label, f"{beside}; may be chance")
    return Tile("Yes", label, f"{beside}: {_comparison(score, base, known)}")


def leading_columns(study: result.Study) -> list[str]:
    """Up to three columns without which predictions of test rows are worse, beyond chance."""
    importance = study.importance
    if importance is None:
        return []
    pairs = zip(importance.columns, importance.low, strict=True)
    return [name for name, low in pairs if low > 0.0][:3]


def _ends(score: result.Score) -> str:
    return _interval(score).strip(" ()")
