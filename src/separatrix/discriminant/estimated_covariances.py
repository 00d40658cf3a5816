"""Covariances that scikit-learn's ``shrinkage`` and ``covariance_estimator`` ask for.

    Σ = (1 − s) C + s (tr C / d) I

with s given, or by Ledoit and Wolf ("auto") in columns of unit variance:

    s = min(1, Σ w (‖z‖⁴ − ‖R‖²) / (n² ‖R − I‖²)),      R the correlation matrix

which minimizes the expected squared error of the covariance. These depend on the units of the
columns where s is given, by definition, and not with "auto".
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from separatrix.discriminant.gaussian_classifier import (
    IncrementalGaussianClassifier,
    Statistics,
)
from separatrix.estimators.class_labels import CodedRows, coded_rows
from separatrix.messages import InputError, check_option, warn
from separatrix.rows.block import Floats, to_array
from separatrix.rows.rows import ArrayRows
from separatrix.statistics.class_moments import ClassMoments


@dataclass(frozen=True)
class CovarianceChoice:
    """The parameters ``solver``, ``shrinkage`` and ``covariance_estimator`` of a model."""

    solver: str
    shrinkage: Any = None
    estimator: Any = None

    def check(self, solvers: tuple[str, ...]) -> None:
        """Refuse what is unknown, and what does not go together."""
        check_option("solver", self.solver, solvers)
        s = self.shrinkage
        number = isinstance(s, Real) and not isinstance(s, bool | np.bool_)
        if not (s is None or (isinstance(s, str) and s == "auto") or (number and 0 <= s <= 1)):
            raise InputError(f"shrinkage={s!r} must be 'auto', None or a number from 0 to 1.")
        if self.solver == "svd" and s is not None:
            raise NotImplementedError(
                "shrinkage is not supported with solver='svd'. Use solver='eigen'."
            )
        if self.estimator is None:
            return
        if self.solver == "svd":
            raise InputError(
                "covariance_estimator is not supported with solver='svd': a covariance estimator "
                "is not supported with svd, which forms no covariance.",
                remedy="Use solver='eigen'.",
            )
        if s:
            raise InputError(
                "covariance_estimator and shrinkage parameters are not None. Only one of the two "
                "can be set."
            )
        if not hasattr(self.estimator, "fit"):
            raise InputError(f"covariance_estimator={self.estimator!r} has no method fit.")

    @property
    def needs_rows(self) -> bool:
        """Whether class moments do not suffice."""
        return self.estimator is not None or self.shrinkage == "auto"

    def from_moments(self, m: ClassMoments) -> Floats:
        """Covariances of every class (K x d x d), and of all rows as the last."""
        matrices = np.concatenate([m.covariances, (m.within + m.between)[None]])
        return np.stack([shrunk(c, float(self.shrinkage or 0.0)) for c in matrices])

    def from_rows(self, coded: CodedRows, n_classes: int) -> Floats:
        """Covariances of every class (K x d x d), and of all rows as the last."""
        x, w = to_array(coded.x), coded.w
        if self.estimator is not None and np.ptp(w) > 0:
            raise InputError(
                "covariance_estimator takes no sample_weight.", remedy="Use shrinkage instead."
            )
        deviation = np.sqrt(np.average((x - np.average(x, axis=0, weights=w)) ** 2, 0, w))
        parts = [np.flatnonzero(coded.codes == k) for k in range(n_classes)]
        parts.append(np.arange(len(x)))
        return np.stack([self._one(x[part], w[part], deviation) for part in parts])

    def _one(self, x: Floats, w: Floats, deviation: Floats) -> Floats:
        if self.estimator is None:
            return ledoit_wolf(x, w, deviation)
        model = clone(self.estimator, safe=False)
        model.fit(x)
        if not hasattr(model, "covariance_"):
            raise InputError(f"{type(model).__name__} does not have a covariance_ attribute.")
        return np.atleast_2d(np.asarray(model.covariance_, dtype=np.float64))


def _from_portions(model: Any) -> bool:
    if model._choice().needs_rows:
        raise AttributeError("shrinkage='auto' and covariance_estimator need all rows at once.")
    return True


class EstimatedCovariances(IncrementalGaussianClassifier):
    """Gaussian classes with scikit-learn's ``shrinkage`` and ``covariance_estimator``."""

    _solvers: tuple[str, ...] = ()

    @abstractmethod
    def _choice(self) -> CovarianceChoice:
        """The solver and how covariances are estimated, by the parameters."""

    def _check_parameters(self) -> None:
        self._choice().check(self._solvers)
        tol = getattr(self, "tol", 0.0)
        if not (isinstance(tol, Real) and 0.0 <= float(tol) < np.inf):
            raise InputError(f"tol={tol!r} must be a number and not negative.")
        priors = self._options().priors
        total = 1.0 if priors is None or isinstance(priors, str) else float(np.sum(priors))
        if abs(total - 1.0) > 1e-5:
            warn("SEP014", f"priors add up to {total:.6g}, and were divided by it.")

    def _statistics(self, X: Any, y: Any, sample_weight: Any) -> Statistics:
        self._check_parameters()
        choice = self._choice()
        if not choice.needs_rows:
            return super()._statistics(X, y, sample_weight)
        coded = coded_rows(self, X, y, sample_weight)
        rows = ArrayRows(coded.x, None, coded.w).with_parts(coded.codes)
        moments = self._array_moments(rows, self._structure())
        return moments, coded.encoding, choice.from_rows(coded, len(self.classes_))

    @available_if(_from_portions)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows given before; ``classes`` lists all possible labels.

        There is none with ``shrinkage="auto"`` or a ``covariance_estimator``, which need all rows.
        """
        self._check_parameters()
        return super().partial_fit(X, y, classes, sample_weight)


def shrunk(covariance: Floats, s: float) -> Floats:
    """(1 − s) C + s (tr C / d) I."""
    d = len(covariance)
    mean = float(np.trace(covariance)) / max(d, 1)
    return np.asarray((1.0 - s) * covariance + s * mean * np.eye(d))


def ledoit_wolf(x: Floats, w: Floats, deviation: Floats) -> Floats:
    """The covariance of weighted rows, shrunk in columns of unit variance by Ledoit and Wolf.

    A column that is constant here counts in units of its ``deviation`` over all rows.
    """
    n, d = float(w.sum()), x.shape[1]
    z = x - w @ x / n
    z -= w @ z / n
    own = np.sqrt(w @ z**2 / n)
    rounding = 16 * np.finfo(float).eps * np.abs(x).max(axis=0, initial=0.0)
    scale = np.where(own > rounding, own, deviation)
    z = np.where(own > rounding, z, 0.0) / np.where(scale > 0.0, scale, 1.0)
    c = (z * w[:, None]).T @ z / n
    square = float((c**2).sum())
    fourth = float(w @ np.einsum("ij,ij->i", z, z) ** 2) / n
    spread = square - float(np.trace(c)) ** 2 / max(d, 1)  # ‖C − mean · I‖²
    noise = max((fourth - square) / n, 0.0)
    s = 0.0 if noise == 0.0 else 1.0 if spread <= noise else noise / spread
    return np.asarray(shrunk(c, s) * np.outer(scale, scale))
