"""A study of classes: compared by log loss and error, calibrated where it helps, priced if asked.

probabilities ─ choice ─ calibration ─ costs ─ an answer or a doubt
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.estimators.targets import codes_of
from separatrix.messages import InputError, did_you_mean
from separatrix.rows.block import unit_weights
from separatrix.rows.rows import InMemory
from separatrix.study import inferred as announce
from separatrix.study.candidates import BASELINE, Candidate, Size, few_rows
from separatrix.study.classes.boundary import plane_of
from separatrix.study.classes.calibration import Read, calibrated, line, read
from separatrix.study.classes.costs import Prices, about_prices, decided, prices_of
from separatrix.study.classes.covariances import covariance_tests
from separatrix.study.classes.margins import margins_of
from separatrix.study.classes.out_of_fold import ask, left_out, log_losses, probabilities_for
from separatrix.study.compare import choose
from separatrix.study.curve import learning_curve
from separatrix.study.data import truth_of
from separatrix.study.design import StudyDesign, shown, with_warnings
from separatrix.study.measure import classification_scores, mean_score
from separatrix.study.progress import Step, stages
from separatrix.study.result import CalibrationCheck, Decision, Entry, Predictions, Score, Study
from separatrix.study.tasks import CLASSIFICATION

METRICS = ("log_loss", "error")


@dataclass(frozen=True)
class Options:
    """What only a study of classes can be asked for."""

    metric: str | None = None
    costs: Any = None
    reject: float | None = None

    def refuse_for(self, task: str) -> None:
        """A measure that there is not, or costs of classes where there are none."""
        if task == CLASSIFICATION:
            if self.metric not in (None, *METRICS):
                raise InputError(
                    f"Models of classes are not compared by {self.metric!r}.",
                    remedy=did_you_mean(str(self.metric), METRICS),
                )
            return
        if self.metric not in (None, "rmse"):
            raise InputError(
                f"Models of numbers are compared by rmse, not by {self.metric!r}.",
                remedy="Leave out --metric, or use --task classification.",
            )
        for name, value in (("--costs", self.costs), ("--reject", self.reject)):
            if value is not None:
                raise InputError(
                    f"{name} belongs to classes, and the target holds numbers.",
                    remedy="Leave it out, or use --task classification.",
                )


@dataclass(frozen=True)
class Compared:
    """The leaderboard, and what each candidate said of the folds that it did not see."""

    entries: tuple[Entry, ...]
    asked: dict[str, Read]
    said: list[str]


@dataclass(frozen=True)
class Winner:
    """The model beneath, the one that answers, and what was found on the way."""

    core: Any
    model: Any
    rejects: tuple[str, ...]
    check: CalibrationCheck | None


def study_classes(setting: StudyDesign, wishes: Options, size: Size, *, asked: bool) -> Study:
    """Compare, choose, calibrate, price, and open the test part once."""
    bench = setting.bench
    labels = np.array(sorted(str(t.level) for t in setting.table.block.targets), dtype=object)
    classes, said = _known(setting, labels)
    prices = prices_of(wishes.costs, wishes.reject, labels)
    metric = wishes.metric or METRICS[0]
    with stages(setting.progress, len(setting.entrants) + 3) as step:
        compared = _compare(setting, classes, metric, size, asked, step)
        name, reason = choose(compared.entries)
        best = setting.named(name)
        step(f"fitting {name} to the training part")
        winner = _fitted(best, setting, compared, prices)
        step("opening the test part")
        held = _judged(winner, bench.table.take(bench.held), classes)
        decision = None if prices is None else decided(prices, classes, held)
        baseline = _baseline(setting, classes, prices)
        step("learning curve")
        curve = learning_curve(best, bench, "error", setting.parts.seed)
    names = tuple(str(c) for c in classes)
    said += announce.about_classes(names) + compared.said
    said += [] if winner.check is None else [winner.check.words]
    said += [] if prices is None else about_prices(prices, classes)
    return setting.story(
        task=CLASSIFICATION,
        leaderboard=compared.entries,
        winner=name,
        reason=reason,
        test=_scores(held, classes, decision),
        baseline_test=baseline,
        model=winner.model,
        said=(*setting.said, *said, *announce.about_core(winner.core)),
        warnings=winner.rejects,
        classes=names,
        held=held,
        curve=curve,
        training=shown(winner.core, winner.model, bench),
        left_out=() if name == BASELINE else left_out(compared.asked[name].asked, bench),
        calibration=winner.check,
        decision=decision,
        covariances=covariance_tests(bench, classes),
        plane=plane_of(winner.model, bench, held),
        margins=margins_of(winner.core, bench),
    )


def _known(setting: StudyDesign, labels: NDArray[Any]) -> tuple[NDArray[Any], list[str]]:
    """The classes of the training part, in order; a sentence on any that is in the test part alone.

    A class whose rows have no weight is as good as absent.
    """
    rows = setting.table.take(setting.bench.training)
    truth = truth_of(rows)
    met = set(truth if rows.block.w is None else truth[rows.block.w > 0])
    classes = np.array([label for label in labels if label in met], dtype=object)
    others = [str(label) for label in labels if label not in met]
    if len(classes) < 2:
        raise InputError(
            f"all {len(rows)} rows that serve to choose are of class {classes[0]!r}; there are too "
            "few of any other.",
            column=setting.target,
            remedy="Give more rows of the other classes, or split otherwise (--seed, --test).",
        )
    if not others:
        return classes, []
    shown_ = ", ".join(repr(o) for o in others[:4]) + (" …" if len(others) > 4 else "")
    which = f"Class {shown_} stands" if len(others) == 1 else f"Classes {shown_} stand"
    return classes, [
        f"{which} in the test part alone: no model can know it, and its rows count as errors "
        "(give more rows of it)."
    ]


def _compare(
    setting: StudyDesign, classes: NDArray[Any], metric: str, size: Size, asked: bool, step: Step
) -> Compared:
    """Every candidate on every fold, simplest first; one that refuses the data says why."""
    entries, kept, said = [], {}, []
    needed = asked or few_rows(size)
    for candidate in setting.entrants:
        step(f"comparing {candidate.name}")
        if candidate.spare and not needed:
            each = size.rows // (max(1, size.classes - 1) * (size.terms + 1))
            said.append(
                f"{candidate.name} is left out: with {each} rows for each coefficient a penalty "
                f"has nothing to mend (to try it all the same: --models {candidate.name})."
            )
            continue
        try:
            answers = ask(candidate, setting.bench, classes)
        except InputError as refusal:
            if candidate.name == BASELINE:
                raise
            nan = float("nan")
            note = refusal.what
            entries.append(Entry(candidate.name, candidate.label, metric, (), nan, nan, note=note))
            continue
        needed = needed or answers.separable
        found = read(candidate, answers)
        entries.append(line(candidate, found, metric))
        kept[candidate.name] = found.thinned()
    return Compared(tuple(entries), kept, said)


def _fitted(
    best: Candidate, setting: StudyDesign, compared: Compared, prices: Prices | None
) -> Winner:
    """The winner on all folds, with the calibration that helps and the prices asked for."""
    core, rejects = with_warnings(lambda: setting.bench.fit(best))
    found = compared.asked[best.name]
    model, check = calibrated(best, core, found), found.check
    if prices is None:
        return Winner(core, model, rejects, check)
    if not hasattr(model, "predict_proba"):
        raise InputError(
            f"{best.name} won, and costs need probabilities: {_note(best, compared)}",
            remedy="Compare by --metric log_loss, or choose others with --models.",
        )
    return Winner(core, prices.from_fitted(model), rejects, check)


def _note(best: Candidate, compared: Compared) -> str:
    return next(e.note for e in compared.entries if e.name == best.name)


def _baseline(
    setting: StudyDesign, classes: NDArray[Any], prices: Prices | None
) -> tuple[Score, ...]:
    """The scores of the baseline on the test part, under the same prices."""
    bench = setting.bench
    model = with_warnings(lambda: bench.fit(setting.baseline))[0]
    rows = bench.table.take(bench.held)
    held = _judged(Winner(model, model, (), None), rows, classes)
    return _scores(held, classes, None if prices is None else decided(prices, classes, held))


def _judged(winner: Winner, rows: InMemory, classes: NDArray[Any]) -> Predictions:
    """The test part: truth, answer, scores of the model beneath, probabilities of the whole."""
    core, model = winner.core, winner.model
    changed = winner.check is not None and winner.check.method is not None
    return Predictions(
        rows.row_ids,
        truth_of(rows),
        model.predict(rows),
        core.decision_function(rows) if hasattr(core, "decision_function") else None,
        rows.block.w,
        probabilities_for(model, rows, classes),
        probabilities_for(core, rows, classes) if changed else None,
    )


def _scores(
    held: Predictions, classes: NDArray[Any], decision: Decision | None
) -> tuple[Score, ...]:
    """Log loss and error of the most probable class; what answers cost, where that was asked."""
    truth = held.truth
    w = unit_weights(held.w, len(truth))
    p, found = held.probabilities, []
    most = held.predicted if p is None else classes[p.argmax(axis=1)]
    if p is not None:
        losses = log_losses(p, codes_of(truth, classes))
        found.append(mean_score("log_loss", losses, w))
    two = held.scores is not None and len(classes) == 2
    margin = np.asarray(held.scores, dtype=float).ravel() if two else None
    accuracy, error, *area = classification_scores(truth, most, margin, classes[-1], held.w)
    found += [error, accuracy, *area]
    if decision is not None:
        found.append(decision.cost)
        if decision.costs.reject_cost is not None:
            found += [decision.coverage, decision.risk]
    return tuple(found)
