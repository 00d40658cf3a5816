"""Whether more rows, more columns or a more flexible model would help, in words.

Gains are those of power laws with intervals of 90 % over folds drawn anew, or differences between
models on the same folds with their standard errors.
"""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Floats
from separatrix.selection.curves.power_law import LEVEL, PowerLaw, fit_power_law
from separatrix.selection.curves.result import LearningCurves, digits
from separatrix.study.curves.result import NO, UNCLEAR, YES, Advice, ColumnCurve

#: A gain of less than this fraction of the error is little, one of more than that helps.
LITTLE, MUCH = 0.02, 0.01
#: An error of this fraction of that of a constant is rounding.
EXACT = 1e-6
#: How many times the columns, and the rows up to which curves are followed to a crossing.
MORE_COLUMNS, FARTHEST = 1.5, 100.0
NAMES = {"rmse": "RMSE", "error": "the error rate", "log loss": "the log loss"}


def advise(
    curves: LearningCurves, columns: ColumnCurve | None, n_columns: int
) -> tuple[tuple[Advice, ...], str]:
    """What would help, and one sentence on all of it."""
    best = int(curves.best[-1])
    exact = curves.mean[-1] <= EXACT * curves.mean[-1, 0]
    if exact.any():
        return _exact(curves, int(exact.argmax()))
    found = (
        rows_advice(curves, best),
        columns_advice(curves, columns, n_columns),
        model_advice(curves, best),
    )
    return found, _summary(found)


def _exact(curves: LearningCurves, best: int) -> tuple[tuple[Advice, ...], str]:
    """A target that is a function of the columns leaves nothing to gain."""
    what = ("more rows", "more columns", "a more flexible model")
    sentences = (
        f"More rows: they would change nothing; {curves.names[best]} is exact with these.",
        "More columns: these determine the target.",
        f"A more flexible model: none is needed beyond {curves.names[best]}.",
    )
    found = tuple(Advice(w, NO, text) for w, text in zip(what, sentences, strict=True))
    return found, f"Nothing is left to gain: {curves.names[best]} is exact on rows left out."


def _summary(found: tuple[Advice, ...]) -> str:
    helping = [a for a in found if a.answer == YES]
    if not helping:
        open_ = [a.what for a in found if a.answer == UNCLEAR]
        if open_:
            return f"Nothing is certain to help; {_listed(open_)} might."
        return "Neither more rows, more columns nor a more flexible model would change much."
    helping.sort(key=lambda a: -a.gain if np.isfinite(a.gain) else 0.0)
    what = _listed([a.what for a in helping])
    return f"{what[0].upper()}{what[1:]} would help."


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _answer(low: float, high: float, error: float) -> str:
    if high < LITTLE * error:
        return NO
    return YES if low > MUCH * error else UNCLEAR


def _metric(curves: LearningCurves) -> str:
    return NAMES.get(curves.metric, curves.metric)


def _text(curves: LearningCurves, value: float) -> str:
    return f"{100 * value:.2g} %" if curves.metric == "error" else digits(value, 3)


def _change(curves: LearningCurves, value: float) -> str:
    return f"{100 * value:.2g} points" if curves.metric == "error" else digits(value, 2)


def _range(curves: LearningCurves, low: float, high: float) -> str:
    """The ends of an interval of changes."""
    if curves.metric == "error":
        return f"{100 * low:.2g} to {100 * high:.2g}"
    return f"{digits(low, 2)} to {digits(high, 2)}"


def rows_advice(curves: LearningCurves, best: int) -> Advice:
    """The best model of now with twice the rows, and with any number of them."""
    what, law, n = "more rows", curves.power_laws[best], float(curves.sizes[-1])
    error = float(curves.mean[-1, best])
    if law is None:
        return _without_law(curves, best)
    now, then, limit = (curves.draws_at(best, m) for m in (n, 2.0 * n, np.inf))
    gain, low, high = law.interval(now - then)
    answer = _answer(low, high, error)
    words = {
        YES: "they would help",
        NO: "they would change little",
        UNCLEAR: "they might help; the folds leave it open",
    }[answer]
    sentence = (
        f"More rows: {words}. With twice as many ({2 * n:,.0f} for training) {_metric(curves)} of "
        f"the best model, {curves.names[best]}, would fall by {_change(curves, gain)} "
        f"({_range(curves, low, high)}) from {_text(curves, error)}"
    )
    end, least, most = law.interval(limit)
    if law.determined:
        sentence += (
            f"; its limit for any number of rows is about {_text(curves, end)} "
            f"({_text(curves, least)} to {_text(curves, most)})."
        )
    else:
        sentence += "; its limit is not determined by so short a curve."
    return Advice(what, answer, sentence, gain, low, high)


def _without_law(curves: LearningCurves, best: int) -> Advice:
    """Whether the error still falls, where the curve is too short or too steep for a power law."""
    what, mean, sizes = "more rows", curves.mean[:, best], curves.sizes
    half = int(np.abs(sizes[:-1] - sizes[-1] / 2).argmin())
    losses = curves.validation[:, best]
    if not np.isfinite(mean[[half, -1]]).all():
        return Advice(what, UNCLEAR, "More rows: too few sizes could be fitted to tell.")
    fell = float(mean[half] - mean[-1])
    spread = _spread(curves, losses[half] - losses[-1], float(mean[-1]))
    steep = fell > 2.0 * spread and fell > MUCH * mean[-1]
    words = "they would help" if steep else "they might help; the folds leave it open"
    sentence = (
        f"More rows: {words}. From {sizes[half]:,.0f} to {sizes[-1]:,.0f} training rows "
        f"{_metric(curves)} of the best model, {curves.names[best]}, "
        f"{'fell' if fell >= 0 else 'rose'} by {_change(curves, abs(fell))} ± "
        f"{_change(curves, spread)} to {_text(curves, mean[-1])}: too "
        "short a curve for a power law beyond them."
    )
    return Advice(what, YES if steep else UNCLEAR, sentence)


def columns_advice(curves: LearningCurves, columns: ColumnCurve | None, n_columns: int) -> Advice:
    """The linear model with fewer of the columns.

    Where they add little to the last, others of their kind would not either. Where they do add, the
    error falls with their number until the last of them whether or not there are others that the
    target depends on: no table can tell, and the answer is open.
    """
    what = "more columns"
    if columns is None:
        return Advice(
            what, UNCLEAR, f"More columns: {n_columns} are too few to tell from fewer of them."
        )
    error = float(curves.shown(columns.validation[-1].mean()))
    raised = float(curves.shown(columns.validation[-2].mean())) - error
    spread = _spread(curves, columns.validation[-2] - columns.validation[-1], error)
    sentence = (
        f"With {columns.counts[-2]:.0f} of the {columns.counts[-1]:.0f} columns, chosen at random, "
        f"{_metric(curves)} of the linear model is {_change(curves, abs(raised))} ± "
        f"{_change(curves, spread)} {'higher' if raised >= 0 else 'lower'}"
    )
    if raised <= spread or raised < MUCH * error:
        words = "others of the same kind would change little"
        return Advice(what, NO, f"More columns: {words}. {sentence}.")
    words = "the last of them still add something, and others might"
    law = fit_power_law(columns.counts, columns.validation)
    if law is None:
        return Advice(what, UNCLEAR, f"More columns: {words}. {sentence}.")
    more = MORE_COLUMNS * float(columns.counts[-1])
    now, then = (curves.shown(law.at(q)) for q in (float(columns.counts[-1]), more))
    gain, low, high = law.interval(now - then)
    sentence += (
        ". If the target depends on others as on these, half as many again would lower it by "
        f"{_change(curves, gain)} ({_range(curves, low, high)}); no table can tell if it does."
    )
    return Advice(what, UNCLEAR, f"More columns: {words}. {sentence}", gain, low, high)


def _spread(curves: LearningCurves, differences: Floats, error: float) -> float:
    """Standard error of a difference over folds, which share their training rows."""
    k = len(differences)
    spread = float(differences.std(ddof=1) * np.sqrt(1.0 / k + 1.0 / (k - 1)))
    return spread / (2.0 * error) if curves.loss == "squared error" and error > 0 else spread


def model_advice(curves: LearningCurves, best: int) -> Advice:
    """The best of the more flexible models beside the linear one."""
    what = "a more flexible model"
    if len(curves.names) < 3:
        return Advice(what, UNCLEAR, "A more flexible model: none could be tried on this table.")
    validation, mean = curves.validation[-1], curves.mean[-1]
    if best == 0:
        return Advice(
            what,
            NO,
            f"A more flexible model: no model beats the {curves.names[0]}, whose "
            f"{_metric(curves).removeprefix('the ')} is {_text(curves, mean[0])}.",
        )
    flexible = mean[2:]
    if not np.isfinite(flexible).any():
        return Advice(what, UNCLEAR, "A more flexible model: none could be fitted to all rows.")
    rival = 2 + int(np.nanargmin(flexible))
    gain = float(mean[1] - mean[rival])
    spread = _spread(curves, validation[1] - validation[rival], float(mean[1]))
    compared = (
        f"{curves.names[rival]} has {_text(curves, mean[rival])}, {curves.names[1]} "
        f"{_text(curves, mean[1])} (difference {_change(curves, abs(gain))} ± "
        f"{_change(curves, spread)})"
    )
    # a difference of one standard error either way leaves it open
    low, high = gain - 1.645 * spread, gain + 1.645 * spread
    if gain > spread and gain > MUCH * mean[1]:
        further = ""
        if rival == len(curves.names) - 1:
            further = " It is the most flexible that was tried: a still more flexible one may help."
        sentence = f"A more flexible model: it helps; {compared}.{further}"
        return Advice(what, YES, sentence, gain, low, high)
    answer = NO if gain <= spread else UNCLEAR
    words = "it does not help with so many rows" if answer == NO else "it hardly helps"
    sentence = f"A more flexible model: {words}; {compared}."
    return Advice(what, answer, f"{sentence}{_crossing(curves, rival)}", gain, low, high)


def _crossing(curves: LearningCurves, rival: int) -> str:
    """Where the power law of a more flexible model falls below that of the linear one."""
    simple, flexible = curves.power_laws[1], curves.power_laws[rival]
    if simple is None or flexible is None or not _determined(simple, flexible):
        return ""
    n = np.geomspace(1.0, FARTHEST, 200) * float(curves.sizes[-1])
    # the folds of both laws were drawn alike, so that draws can be compared one by one
    below = np.array([np.mean(flexible.at(m) < simple.at(m)) for m in n.tolist()])
    if below[0] >= LEVEL or below[-1] < LEVEL:
        return ""
    return (
        f" By their power laws {curves.names[rival]} would be ahead from about "
        f"{float(f'{n[int((below >= LEVEL).argmax())]:.1g}'):,.0f} rows on."
    )


def _determined(*laws: PowerLaw) -> bool:
    return all(law.determined for law in laws)
