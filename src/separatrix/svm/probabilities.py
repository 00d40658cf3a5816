"""``probability=True`` of kernel SVMs: Platt scaling of every binary SVM, coupled to classes.

    P(i | i or j, x) = 1/(1 + exp(A s(x) + B)),     s the score of the pair i < j

A and B maximize the likelihood of out-of-fold scores of the rows of both classes, and the
probabilities of all pairs are coupled to one for each class (Wu, Lin and Weng, 2004). Calibrations
apply to the very scores that they were fitted to: those of the binary SVMs.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.targets import codes_of
from separatrix.estimators.wrapped import (
    LabeledRows,
    fitted,
    joint_certificate,
    labeled_rows,
    warn_once,
)
from separatrix.probability.calibrated import calibrated_probabilities
from separatrix.probability.calibrations import PlattCalibration
from separatrix.probability.coupling import couple
from separatrix.rows.block import Floats, Ints
from separatrix.selection.folds import folds_of
from separatrix.svm.kernel_classifier import KernelClassifier

#: Folds of the scores that are calibrated.
FOLDS = 5
#: scikit-learn's default of ``probability``, which means False.
DEPRECATED = "deprecated"


class CalibratedPairs(KernelClassifier):
    """With ``probability=True``, a Platt sigmoid for each binary SVM."""

    probability: Any
    calibrations_: list[PlattCalibration]

    @property
    def _with_probabilities(self) -> bool:
        return self.probability != DEPRECATED and bool(self.probability)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self.__dict__.pop("calibrations_", None)
        if self.probability != DEPRECATED:
            name = type(self).__name__
            warnings.warn(
                f"The `probability` parameter of {name} is deprecated in scikit-learn 1.9 and "
                f"removed in 1.11; CalibratedClassifier({name}(), method='platt') stays.",
                FutureWarning,
                stacklevel=2,
            )
        self._fit_classes(X, y, sample_weight)
        if self._with_probabilities:
            self._calibrate(labeled_rows(self, X, y, sample_weight))
        return self

    # -- calibration ------------------------------------------------------------------------------

    def _calibrate(self, rows: LabeledRows) -> None:
        """One Platt sigmoid for each binary SVM, from scores of rows that it was not fitted to."""
        scores, codes, w = self._out_of_fold(rows)
        self.calibrations_ = []
        for s, (positive, takes_part) in zip(scores.T, self._targets(codes), strict=True):
            weight = None if w is None else w[takes_part]
            fit = PlattCalibration().fit(s[takes_part], positive[takes_part], weight)
            self.calibrations_.append(fit)
        claim = f"Calibrated (platt) on {len(codes)} out-of-fold scores"
        joint = joint_certificate(claim, [*self.calibrations_, self])
        own = self.certificate_
        self.certificate_ = replace(own, notes=(*own.notes, f"{claim}.")) if joint.holds else joint

    def _targets(self, codes: Ints) -> list[tuple[Any, Any]]:
        """Of each binary SVM: which rows are of its positive class, and which take part."""
        k, every = len(self.classes_), np.ones(len(codes), dtype=bool)
        if k == 2:
            return [(codes == 1, every)]
        if self.decision == "ovr":
            return [(codes == c, every) for c in range(k)]
        pairs = combinations(range(k), 2)
        return [(codes == i, (codes == i) | (codes == j)) for i, j in pairs]

    def _out_of_fold(self, rows: LabeledRows) -> tuple[Floats, Ints, Floats | None]:
        """Scores (n x binary SVMs) of each fold by a model of the others, codes and weights."""
        weighted, codes = rows.positive_weight, codes_of(rows.y, self.classes_)
        plain = clone(self).set_params(probability=DEPRECATED)
        copied = rows.copies(weighted)
        k = min(FOLDS, len(weighted if copied is None else np.unique(copied)))
        folds = folds_of(k, len(codes), rows=weighted, codes=codes[weighted], copied=lambda: copied)
        with warn_once():
            scores = folds.map(
                lambda train, test: self._fold_scores(
                    plain, rows, codes, weighted[train], weighted[test]
                )
            )
        tests = weighted[np.concatenate([test for _, test in folds.pairs])]
        return np.concatenate(scores), codes[tests], None if rows.w is None else rows.w[tests]

    def _fold_scores(
        self, plain: Any, rows: LabeledRows, codes: Ints, train: Ints, test: Ints
    ) -> Floats:
        """Scores of the test rows; ±1 where only one side of a binary SVM has training rows."""
        present = np.unique(codes[train])
        train_rows, test_rows = rows.split(self, train, test)
        if len(present) == len(self.classes_):
            return np.asarray(fitted(plain, train_rows)._scores(test_rows.x))
        sides = [  # +1 or −1 if only that class of the pair has rows, 0 for neither
            float((positive & part)[train].any()) - float((~positive & part)[train].any())
            for positive, part in self._targets(codes)
        ]
        scores = np.tile(np.array(sides), (len(test), 1))
        if len(present) > 2 and self._has_pairs:
            known = set(present.tolist())
            pairs = combinations(range(len(self.classes_)), 2)
            found = [p for p, (i, j) in enumerate(pairs) if i in known and j in known]
            scores[:, found] = fitted(plain, train_rows)._scores(test_rows.x)
        return scores

    # -- probabilities ----------------------------------------------------------------------------

    @available_if(lambda self: self._with_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities in the order of ``classes_``; needs ``probability=True``."""
        check_is_fitted(self)
        if "calibrations_" not in vars(self):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False: fit again."
            )
        scores = self._scores(X)
        if not self._has_pairs:
            return calibrated_probabilities(self.calibrations_, self._by_class(scores))
        log_odds = [c.map_.log_odds(s) for c, s in zip(self.calibrations_, scores.T, strict=True)]
        return couple(-np.stack(log_odds, axis=1), len(self.classes_))

    @available_if(lambda self: self._with_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @property
    def probA_(self) -> Floats:
        """A of the sigmoid 1/(1 + exp(A s + B)) of every pair; empty without probabilities."""
        return self._sigmoids("probA_")[0]

    @property
    def probB_(self) -> Floats:
        """B of the sigmoid 1/(1 + exp(A s + B)) of every pair; empty without probabilities."""
        return self._sigmoids("probB_")[1]

    def _sigmoids(self, name: str) -> tuple[Floats, Floats]:
        if "expansions_" not in vars(self):
            raise AttributeError(f"{name} exists after fit.")
        warnings.warn(
            f"Attribute `{name}` was deprecated in scikit-learn 1.9 and is removed in 1.11; "
            "calibrations_ stays.",
            FutureWarning,
            stacklevel=3,
        )
        maps = [c.map_ for c in getattr(self, "calibrations_", [])]
        sign = (
            1.0 if len(self.classes_) > 2 else -1.0
        )  # scikit-learn's score of two is of the first
        A = np.array([-m.slope for m in maps])
        return A, np.array([-sign * m.log_odds(np.zeros(1))[0] for m in maps])
