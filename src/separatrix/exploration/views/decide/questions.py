"""Questions of the view: probabilities with their curves, and the chosen setting as code.

The probabilities are out of fold; decisions are made of them in the page, while costs are moved.
"""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.estimators.cross_validated import (
    CrossValidatedProbabilities,
    cross_validated_probabilities,
)
from separatrix.exploration.session import Session
from separatrix.exploration.state import State, packed
from separatrix.exploration.views.decide.costs import Chosen
from separatrix.exploration.views.decide.models import MODELS, calibrated
from separatrix.messages import InputError
from separatrix.probability.reliability import reliability
from separatrix.probability.roc import roc_curve

#: Bins of the reliability diagram.
BINS = 10

#: Rows of a class, and of all classes, that five folds of five folds need.
FEWEST, FEWEST_ROWS = 3, 10


def probabilities(session: Session, state: State) -> dict[str, Any]:
    """Out-of-fold probabilities, and ROC and reliability of one class against the rest."""
    target, found = _found(session, state)
    labels = [str(label) for label in found.classes]
    positive = state.choice("positive", labels, labels[-1])
    at = labels.index(positive)
    own, p = found.truth == at, found.probabilities[:, at]
    curve, bins = roc_curve(own, p), reliability(own, p, bins=BINS)
    return {
        "target": target,
        "labels": labels,
        "positive": at,
        "p": packed(found.probabilities, "float64"),
        "truth": packed(found.truth, "int32"),
        "roc": {
            "fpr": packed(curve.fpr, "float64"),
            "tpr": packed(curve.tpr, "float64"),
            "thresholds": packed(np.append(1.0, curve.thresholds[1:]), "float64"),
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


def code(session: Session, state: State) -> dict[str, Any]:
    """The chosen setting as Python and as a command."""
    target, found = _found(session, state)
    labels = [str(label) for label in found.classes]
    chosen = Chosen.of(state, len(labels))
    return {
        "python": _python(session, state, target, chosen),
        "command": _command(session, state, target, chosen, labels),
    }


def _python(session: Session, state: State, target: str, chosen: Chosen) -> str:
    return "\n".join(
        [
            "import separatrix as sx",
            "from separatrix.estimators.cross_validated import cross_validated_probabilities",
            "from separatrix.exploration import read_table",
            "",
            f"rows = {session.table.source}.scanned({target!r})",
            f"calibrated = {calibrated(state)[1]}",
            f"model = sx.RejectOption(calibrated, costs={chosen.python()}).fit(rows)",
            "",
            "# what it costs on rows that it has not seen",
            "found = cross_validated_probabilities(calibrated, rows)",
            "decision = model.costs_.decide(found.probabilities)",
            "mean_cost = model.costs_.with_reject[found.truth, decision].mean()",
        ]
    )


def _command(session: Session, state: State, target: str, chosen: Chosen, labels: list[str]) -> str:
    table, name = session.table, MODELS[state.choice("model", MODELS)][2]
    options, before = chosen.options(labels)
    task = ["--task", "classification"] if table.column(target).dtype.kind == "f" else []
    source = list(table.words) or ["table.csv"]
    words = ["separatrix", "fit", *source, "--target", target, *task, "--models", name, *options]
    return before + shlex.join(words)


def _found(session: Session, state: State) -> tuple[str, CrossValidatedProbabilities]:
    """The target, and probabilities of its classes; fitted once."""
    table = session.table
    target = state.class_column(table)
    model, text = calibrated(state)
    _refuse_few(target, table.labels(target))
    rows = table.scanned(target)
    return target, session.once(
        ("decide", target, text), lambda: cross_validated_probabilities(model, rows)
    )


def _refuse_few(target: str, labels: NDArray[Any]) -> None:
    """Each fold is calibrated within the others: no class may vanish from them."""
    names, sizes = np.unique(labels[labels != ""], return_counts=True)
    if sizes.min() < FEWEST or sizes.sum() < FEWEST_ROWS:
        raise InputError(
            f"{target} has {sizes.sum()} rows, {sizes.min()} of class {names[sizes.argmin()]}: "
            "too few to predict each row by a model that has not seen it.",
            remedy=f"Choose classes of at least {FEWEST} rows, and {FEWEST_ROWS} in all.",
        )


QUESTIONS = {"probabilities": probabilities, "code": code}
