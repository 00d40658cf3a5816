"""Questions of the view: probabilities with their curves, and the chosen setting as code.

The probabilities are out of fold; decisions are made of them in the page, while costs are moved.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import separatrix as sx
from separatrix.arrays import NDArray
from separatrix.catalogue import CLASSIFICATION
from separatrix.estimators.wrapped import (
    CrossValidatedProbabilities,
    cross_validate_probabilities,
)
from separatrix.exploration import plots
from separatrix.exploration.session import Session
from separatrix.exploration.state import ViewState
from separatrix.messages import InputError
from separatrix.probability.reliability import reliability
from separatrix.probability.roc import roc_curve


def probabilities(session: Session, state: ViewState) -> dict[str, Any]:
    """Out-of-fold probabilities, and ROC and reliability of one class against the rest."""
    target, scores = _found(session, state)
    labels = [str(label) for label in scores.classes]
    positive = state.choice("positive", labels, labels[-1])
    index = labels.index(positive)
    is_class, p = scores.truth == index, scores.probabilities[:, index]
    # Bins of the reliability diagram.
    curve, bins = roc_curve(is_class, p), reliability(is_class, p, bins=10)
    return {
        "target": target,
        "labels": labels,
        "positive": index,
        "p": plots.pack(scores.probabilities, "float64"),
        "truth": plots.pack(scores.truth, "int32"),
        "roc": {
            "fpr": plots.pack(curve.fpr, "float64"),
            "tpr": plots.pack(curve.tpr, "float64"),
            "thresholds": plots.pack(np.append(1.0, curve.thresholds[1:]), "float64"),
            "hull": curve.hull.tolist(),
            "area": curve.area,
            "hull_area": curve.hull_area,
        },
        "bins": {
            "predicted": bins.predicted.tolist(),
            "observed": bins.observed.tolist(),
            "weight": bins.weight.tolist(),
            "error": bins.expected_calibration_error,
        },
    }


def code(session: Session, state: ViewState) -> dict[str, Any]:
    """The chosen setting as Python and as a command."""
    target, scores = _found(session, state)
    labels = [str(label) for label in scores.classes]
    chosen = CostMatrix.of(state, len(labels))
    return {
        "python": _python(session, state, target, chosen),
        "command": _command(session, state, target, chosen, labels),
    }


def _python(session: Session, state: ViewState, target: str, chosen: CostMatrix) -> str:
    table = session.table
    whole = table.options is not None and target not in table.booleans
    rows = plots.scan_call(table, target) if whole else f"{table.source}.scan({target!r})"
    return "\n".join(
        [
            "import separatrix as sx",
            "from separatrix.estimators.wrapped import cross_validate_probabilities",
            *([] if whole else ["from separatrix.exploration import read_table"]),
            "",
            f"rows = {rows}",
            f"calibrated = {calibrate_scores(state)[1]}",
            f"model = sx.RejectOption(calibrated, costs={chosen.python()}).fit(rows)",
            "",
            "# what it costs on rows that it has not seen",
            "found = cross_validate_probabilities(calibrated, rows)",
            "decision = model.costs_.decide(found.probabilities)",
            "mean_cost = model.costs_.with_reject[found.truth, decision].mean()",
        ]
    )


def _command(
    session: Session, state: ViewState, target: str, chosen: CostMatrix, labels: list[str]
) -> str:
    table, name = session.table, _model(state)[1]
    options, before = chosen.options(labels)
    task = ["--task", "classification"] if table.column(target).dtype.kind == "f" else []
    source = list(table.words) or ["table.csv"]
    words = ["separatrix", "fit", *source, "--target", target, *task, "--models", name, *options]
    return before + shlex.join(words)


def _found(session: Session, state: ViewState) -> tuple[str, CrossValidatedProbabilities]:
    """The target, and probabilities of its classes; fitted once."""
    table = session.table
    target = state.class_column(table)
    model, text = calibrate_scores(state)
    _refuse_few(target, table.labels(target))
    rows = table.scan(target)
    return target, session.once(
        ("decide", target, text), lambda: cross_validate_probabilities(model, rows)
    )


def _refuse_few(target: str, labels: NDArray[Any]) -> None:
    """Each fold is calibrated within the others: no class may vanish from them."""
    names, sizes = np.unique(labels[labels != ""], return_counts=True)
    fewest = 3  # rows of a class, and of all classes, that five folds of five folds need
    fewest_rows = 10  # rows of a class, and of all classes, that five folds of five folds need
    if sizes.min() < fewest or sizes.sum() < fewest_rows:
        raise InputError(
            f"{target} has {sizes.sum()} rows, {sizes.min()} of class {names[sizes.argmin()]}: "
            "too few to predict each row by a model that has not seen it.",
            remedy=f"Choose classes of at least {fewest} rows, and {fewest_rows} in all.",
        )


QUESTIONS = {"probabilities": probabilities, "code": code}


# -------------------------------------------------------------------------------------------------
# Models of the view, and their calibrations: the estimator, and the Python that makes it.


#: Name of the view → class, parameters, and the name of the model in ``separatrix fit --models``.
MODELS: dict[str, tuple[str, dict[str, Any], str]] = {
    "logistic": ("LogisticRegression", {"standardize": True}, "logistic_ridge"),
    "lda": ("LinearDiscriminantAnalysis", {}, "lda"),
    "naive_bayes": ("NaiveBayes", {}, "naive_bayes"),
    "neighbors": ("KNeighborsClassifier", {"n_neighbors": 15, "standardize": True}, "neighbors"),
    "svm": ("SVC", {"standardize": True}, "svm"),
}

#: Methods of :class:`~separatrix.CalibratedClassifier`; "none" leaves probabilities as they are.
CALIBRATIONS = ("platt", "isotonic", "temperature", "none")


def _model(state: ViewState) -> tuple[plots.ChosenEstimator, str]:
    """The estimator of the state, and its name among those of a study."""
    name = state.choice("model", [*MODELS, *plots.plain_models(CLASSIFICATION)])
    if name not in MODELS:
        return plots.make_plain(name), name
    cls, given, candidate = MODELS[name]
    return plots.make_estimator(cls, **given), candidate


def calibrate_scores(state: ViewState) -> tuple[Any, str]:
    """The model with its calibration; one without probabilities is always calibrated."""
    model, text = _model(state)[0]
    known = CALIBRATIONS if hasattr(model, "predict_proba") else CALIBRATIONS[:-1]
    method = state.choice("calibration", known)
    if method == "none":
        return model, text
    calibrated = sx.CalibratedClassifier(model, method=method)
    return calibrated, f"sx.CalibratedClassifier({text}, method={method!r})"


# -------------------------------------------------------------------------------------------------
# The chosen costs: read from the state, as Python, and as words of the command line.


#: The dearest error.
MOST = 1e6

#: Signs that separate the parts of ``--costs``; names with one go into a file.
SIGNS = ",:="


@dataclass(frozen=True)
class CostMatrix:
    """``matrix[i][j]``: cost of predicting j where i is true; ``reject``: None if no row may be."""

    matrix: tuple[tuple[float, ...], ...]
    reject: float | None

    @classmethod
    def of(cls, state: ViewState, k: int) -> CostMatrix:
        """The costs of the state: 1 for every error, where it has none."""
        reject = state.number("reject", 0.2, 0.0, MOST) if state.flag("abstain", True) else None
        given = state.items("costs") or [[float(i != j) for j in range(k)] for i in range(k)]
        rows = tuple(tuple(row) if isinstance(row, list) else () for row in given)
        if len(rows) != k or not all(len(row) == k and all(map(_cost, row)) for row in rows):
            raise InputError(
                f"costs are not {k} rows of {k} numbers from 0 to {MOST:g}.",
                remedy="A row for each true class, a column for each prediction.",
            )
        return cls(tuple(tuple(map(float, row)) for row in rows), reject)

    @property
    def plain(self) -> bool:
        """Whether every error costs 1."""
        return all(c == (i != j) for i, row in enumerate(self.matrix) for j, c in enumerate(row))

    def python(self) -> str:
        """``costs`` of ``RejectOption``: the cost of a rejection, or a matrix."""
        if self.plain and self.reject is not None:
            return repr(self.reject)
        last = [] if self.reject is None else [self.reject]
        return repr([[*row, *last] for row in self.matrix])

    def options(self, labels: Sequence[str]) -> tuple[list[str], str]:
        """Options of ``separatrix fit``, and a line that writes ``costs.json`` where needed."""
        words = [] if self.reject is None else ["--reject", f"{self.reject:.12g}"]
        named: dict[str, dict[str, float]] = {}
        for truth, row in zip(labels, self.matrix, strict=True):
            for answer, cost in zip(labels, row, strict=True):
                if cost != (truth != answer):
                    named.setdefault(truth, {})[answer] = cost
        if not named:
            return words, ""
        if any(sign in label or label != label.strip() for label in labels for sign in SIGNS):
            text = shlex.quote(json.dumps(named, ensure_ascii=False))
            return ["--costs", "costs.json", *words], f"printf %s {text} > costs.json\n"
        pairs = ((t, a, cost) for t, row in named.items() for a, cost in row.items())
        return ["--costs", ",".join(f"{t}:{a}={c:.12g}" for t, a, c in pairs), *words], ""


def _cost(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and 0.0 <= value <= MOST
