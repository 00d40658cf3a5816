"""Calibrated probabilities for any classifier, from out-of-fold scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators import wrapped
from separatrix.estimators.base import codes_of
from separatrix.estimators.class_labels import (
    two_or_more,
)
from separatrix.formula import nodes
from separatrix.messages import InputError, check_option
from separatrix.parameters import declare_parameters
from separatrix.probability.calibrations import (
    BinaryCalibration,
    IsotonicCalibration,
    LogisticCalibration,
    PlattCalibration,
    TemperatureCalibration,
)
from separatrix.selection.folds import fold_router, folds_of, named_folds, route_params

_METHODS: dict[str, type[BinaryCalibration]] = {
    "logistic": LogisticCalibration,
    "isotonic": IsotonicCalibration,
    "platt": PlattCalibration,
}
#: The method with one parameter for all classes.
JOINT = "temperature"


@declare_parameters
class CalibratedClassifier(wrapped.WrappedClassifier):
    """Classifier with calibrated probabilities: p = calibration(score).

    Every fold is scored by a copy of the estimator fitted to the other folds; one calibration is
    fitted to all these out-of-fold scores, and applied to the estimator fitted to all rows. Two
    classes need one calibration. With K classes each is calibrated against the rest and the
    probabilities are normalized to sum to one (1/K where all of them are zero). Temperature scaling
    has one parameter for all classes and changes no prediction.

    Parameters
    ----------
    estimator : classifier
        A classifier with ``decision_function`` or ``predict_proba``.
    method : {"logistic", "isotonic", "platt", "temperature"}, default="logistic"
        The calibration.
    cv : int, splitter or iterable of (train, test), default=5

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    estimator_ : classifier
        The estimator, fitted to all rows.
    calibrations_ : list of calibrations
        One for two classes or a temperature, otherwise one for each class.
    certificate_ : Certificate
        The worst of those of the estimator and the calibrations.

    See Also
    --------
    LogisticCalibration : The default method.
    RejectOption : Decisions at least expected cost from the probabilities.
    reliability : Whether probabilities are calibrated.

    References
    ----------
    A. Niculescu-Mizil and R. Caruana, Predicting good probabilities with supervised learning,
    ICML, 2005.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0]], [0, 0, 0, 1, 0, 1, 1, 1]
    >>> model = sx.CalibratedClassifier(sx.LinearSVC(), cv=4).fit(X, y)
    >>> model.predict_proba([[0.0], [7.0]])[:, 1].round(1)
    array([0.1, 0.9])
    """

    calibrations_: list[Any] = field(init=False)

    estimator: Any
    _: KW_ONLY
    method: str = "logistic"
    cv: Any = 5

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`.

        ``params`` such as ``groups`` go to the splitter by scikit-learn's metadata routing.
        """
        check_option("method", self.method, (*_METHODS, JOINT))
        cv = named_folds(self.cv, X, y, route_params(self, params, None)["split"])
        rows = wrapped.labeled_rows(self, X, y, sample_weight)
        two_or_more(np.unique(rows.y[rows.positive_weight]).tolist())
        with wrapped.warn_once():
            self._expose(wrapped.fit_wrapped(self.estimator, rows))
            scores, codes, w = self._out_of_fold(rows, cv)
        return self.from_fitted(self.estimator_, scores, codes, w)

    def get_metadata_routing(self) -> Any:
        """Which arguments of ``fit`` go to the splitter."""
        return fold_router(self)

    def from_fitted(self, model: Any, scores: Floats, codes: Ints, w: Floats | None = None) -> Self:
        """Calibrate a classifier that is fitted already on out-of-fold scores.

        ``codes`` are the positions of their classes in ``model.classes_``.
        """
        check_option("method", self.method, (*_METHODS, JOINT))
        self._expose(model)
        if self.method == JOINT:
            joint = TemperatureCalibration().fit(wrapped.joint_scores(model, scores), codes, w)
            self.calibrations_ = [joint]
        else:
            self.calibrations_ = calibrations(self.method, scores, codes, len(self.classes_), w)
        self.certificate_ = wrapped.joint_certificate(
            f"Calibrated ({self.method}) on {len(codes)} out-of-fold scores",
            [*self.calibrations_, self.estimator_],
        )
        return self

    def _out_of_fold(
        self, rows: wrapped.LabeledRows, cv: Any
    ) -> tuple[Floats, Ints, Floats | None]:
        """Scores of each fold by a model fitted to the others, class codes and weights."""
        weighted, codes = rows.positive_weight, codes_of(rows.y, self.classes_)
        if cv is None or isinstance(cv, int | np.integer):
            _require_two_of_each(codes[weighted], self.classes_)
        train_codes, copied = codes[weighted], lambda: rows.copies(weighted)
        folds = folds_of(cv, len(codes), rows=weighted, codes=train_codes, copied=copied)
        scores = folds.map(
            lambda train, test: self._test_scores(rows, weighted[train], weighted[test])
        )
        tests = weighted[np.concatenate([test for _, test in folds.pairs])]
        return np.concatenate(scores), codes[tests], None if rows.w is None else rows.w[tests]

    def _test_scores(self, rows: wrapped.LabeledRows, train: Ints, test: Ints) -> Floats:
        """Scores of the test rows of a fold by the estimator fitted to its training rows."""
        train_rows, test_rows = rows.split(self.estimator, train, test)
        model = wrapped.fit_wrapped(self.estimator, train_rows)
        if len(model.classes_) != len(self.classes_):
            known = set(model.classes_.tolist())
            absent = next(c for c in self.classes_.tolist() if c not in known)
            raise InputError(
                f"Class {absent!r} is absent from the training rows of a fold.",
                remedy="Choose folds that contain every class, or give cv as a number.",
            )
        return wrapped.decision_scores(model, test_rows.x)

    def predict_proba(self, X: Any) -> Floats:
        """One probability for each class in ``classes_``; rows sum to one."""
        check_is_fitted(self)
        scores = wrapped.decision_scores(self.estimator_, X)
        first = self.calibrations_[0]
        if isinstance(first, TemperatureCalibration):
            return first.predict(wrapped.joint_scores(self.estimator_, scores))
        return calibrated_probabilities(self.calibrations_, scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def formula(self) -> nodes.ClassFormula:
        """A classifier's scores through its calibration."""
        inner, labels = nodes.class_formula_of(self.estimator_), self.classes_
        scores, first = nodes.decision_scores(inner), self.calibrations_[0]
        if not isinstance(first, TemperatureCalibration):
            maps = [one.map_ for one in self.calibrations_]
            return nodes.by_probability(nodes.calibrate_scores(maps, scores, labels), labels)
        if len(labels) > 2 and inner.probabilities is not None:
            scores = nodes.Elementwise(scores, "log_sigmoid")
        factor = float(first.map_.inverse_temperature) * np.eye(
            1 if len(labels) == 2 else len(labels)
        )
        return nodes.by_probability(
            nodes.probabilities(nodes.Affine(scores, factor), labels), labels
        )


def calibrations(
    method: str, scores: Floats, codes: Ints, classes: int, w: Floats | None = None
) -> list[BinaryCalibration]:
    """One calibration for two classes, else one of each class against the rest."""
    targets = [1] if classes == 2 else range(classes)
    columns = scores[:, None] if scores.ndim == 1 else scores
    return [_METHODS[method]().fit(columns[:, j], codes == k, w) for j, k in enumerate(targets)]


def calibrated_probabilities(maps: Sequence[BinaryCalibration], scores: Floats) -> Floats:
    """Class probabilities from scores (n, or n x K)."""
    if scores.ndim == 1:
        p = maps[0].predict(scores)
        return np.stack([1.0 - p, p], axis=1)
    return normalize(np.stack([c.predict(s) for c, s in zip(maps, scores.T, strict=True)], 1))


def normalize(p: Floats) -> Floats:
    """Rows of ``p`` divided by their sums; 1/K where all K entries are zero."""
    total = p.sum(axis=1, keepdims=True)
    return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])


def _require_two_of_each(codes: Ints, classes: NDArray[Any]) -> None:
    sizes = np.bincount(codes, minlength=len(classes))
    if sizes.min() < 2:
        raise InputError(
            f"Class {classes.tolist()[sizes.argmin()]!r} has one row: a fold that holds it "
            "leaves none to train on.",
            remedy="Give at least two rows of each class.",
        )
