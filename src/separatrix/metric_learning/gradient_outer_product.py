"""The metric of a smooth fit: columns and directions count by how much the target changes.

    f_c = b_c + Σⱼ aⱼ_c κ(xⱼ, ·),    κ(x, z) = exp(−‖L₀(x − z)‖²/2h²)
    min over a, b of  Σᵢ wᵢ (yᵢ − f(xᵢ))² + λ aᵀK a,   of every target or indicator of a class c
    M = Σ_c Σᵢ wᵢ ∇f_c(xᵢ) ∇f_c(xᵢ)ᵀ / Σ w

M is the average gradient outer product of the fit: ‖L(x − z)‖² = (x − z)ᵀM(x − z) is about the mean
square by which the target differs between two points x and z near one another. L₀ is the identity,
and in later rounds the L of the round before.

With S = W^½, s = S1/‖S1‖, P = I − ssᵀ and the eigenvectors Q of P S K S P beside s, a = S Q c has
(Λ + λ) c = Qᵀ S y, and the error of row i by a fit without it is aᵢ / (S Q (Λ + λ)⁻¹ Qᵀ S)ᵢᵢ: one
decomposition compares all λ.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats
from separatrix.estimators.base import reads_tables, rows_or_items
from separatrix.estimators.class_labels import coded_rows
from separatrix.kernels.gradients import average_gradient_outer_product
from separatrix.kernels.stationary import Gaussian
from separatrix.messages import InputError, check_option, warn
from separatrix.metric_learning.base import MetricLearner, orient, root_of
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Kind
from separatrix.statistics.moments import Standardizer

TARGETS = ("auto", "numbers", "classes")


@declare_parameters
class GradientOuterProductMetric(MetricLearner):
    """The average gradient outer product of a smooth fit, for numbers or classes.

        M = Σ w ∇f(x) ∇f(x)ᵀ / Σ w,      d(x, z) = √((x − z)ᵀ M (x − z))

    f is a kernel ridge regression of the target, or of an indicator of each class: d of near points
    is about how much the target differs between them, in its standard deviations. Columns without
    influence do not count. Leading rows of L span the directions in which the target changes.

    Parameters
    ----------
    n_components : int or None, default=None
        Rows of L at most: the directions, or of a diagonal metric the columns, of largest
        influence. None takes all with any.
    diagonal : bool, default=False
        Whether columns are weighed alone: M without what is beside its diagonal.
    target : {"auto", "numbers", "classes"}, default="auto"
        What the target is; "auto" takes text, categories and truth values for classes, and numbers
        for numbers.
    rounds : int, default=1
        Fits, each with the metric of the one before.
    max_samples : int, default=2000
        Rows of the fit at most, at equal steps among all in lexicographic order; the time grows
        with their cube.
    standardize : bool, default=False

    Attributes
    ----------
    components_ : ndarray of shape (r, n_features)
        L with M = LᵀL, the largest first, for rows in the units of the table.
    metric_ : Elliptical
        The learned metric, for neighbors, exemplars and clusters.
    classes_ : ndarray of shape (n_classes,)
        Of classes only.
    bandwidth_, alpha_ : float
        h, the mean distance of two rows, and λ of the last fit, that of least leave-one-out error.
    certificate_ : Certificate
        How exactly the last fit solves its equations. Of the metric no claim is made.

    See Also
    --------
    NeighborhoodComponentsAnalysis : The map in which random neighbors are of one class.
    RecursiveFeatureMachineRegressor : Predicts by kernels whose metric is learned in rounds.
    average_gradient_outer_product : The same of a kernel expansion of your own.

    References
    ----------
    - S. Trivedi, J. Wang, S. Kpotufe and G. Shakhnarovich, A consistent estimator of the expected
      gradient outerproduct, UAI, 2014.
    - A. Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin, Mechanism for feature learning in
      neural networks and backpropagation-free machine learning models, Science 383, 2024.

    Examples
    --------
    >>> import numpy as np, separatrix as sx
    >>> x = np.random.default_rng(0).uniform(-1, 1, (200, 4))
    >>> y = np.sin(3 * (x[:, 0] + x[:, 1]))
    >>> learned = sx.GradientOuterProductMetric(1).fit(x, y)
    >>> (abs(learned.components_) / abs(learned.components_).max()).round(1)
    array([[1., 1., 0., 0.]])
    >>> plain = sx.KNeighborsRegressor(5).fit(x[::2], y[::2]).score(x[1::2], y[1::2])
    >>> near = sx.KNeighborsRegressor(5, metric=learned.metric_)
    >>> near.fit(x[::2], y[::2]).score(x[1::2], y[1::2]) > plain + 0.2
    True
    """

    bandwidth_: float = field(init=False)
    alpha_: float = field(init=False)
    target_: str = field(init=False)

    n_components: int | None = None
    _: KW_ONLY
    diagonal: bool = False
    target: str = "auto"
    rounds: int = 1
    max_samples: int = 2000
    standardize: bool = False

    @property
    def _multi_output(self) -> bool:  # type: ignore[override]
        return self._learns == "numbers"

    @property
    def _learns(self) -> str:  # type: ignore[override]
        return str(vars(self).get("target_", "numbers"))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn L from the rows of ``X`` and their targets."""
        check_option("target", self.target, TARGETS)
        for name in ("n_components", "rounds", "max_samples"):
            value = getattr(self, name)
            whole = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
            if not whole and not (name == "n_components" and value is None):
                raise InputError(f"{name}={value!r} must be a whole number of at least 1.")
        self.__dict__.pop("classes_", None)
        self.target_ = _kind_of_target(X, y) if self.target == "auto" else self.target
        return self._fit(X, y, sample_weight)

    @reads_tables
    def _fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        x, targets, w = self._read(X, y, sample_weight)
        units = Standardizer.from_rows(x, w)
        factor = units.inverse_scale if self.standardize else (units.scale > 0.0).astype(float)
        z = (x - units.mean) * factor
        size = float(np.exp2(np.frexp(np.abs(z).max(initial=0.0))[1]))
        sample = Sample.of(z / size, targets, w, int(self.max_samples))
        root = np.eye(x.shape[1])
        for _ in range(int(self.rounds)):
            bandwidth, fit, m = sample.learn(root)
            root = root_of(m, diagonal=bool(self.diagonal), most=self.n_components)
            root = root if self.diagonal else orient(root)
        self.components_ = root * (factor / size)
        self.bandwidth_, self.alpha_ = bandwidth * size, fit.alpha
        self.certificate_ = fit.certificate(sample)
        if not self.certificate_.holds:
            warn("SEP003", f"{self.certificate_}")
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Floats, Floats, Floats]:
        """Rows of positive weight, targets without units (n x k), and weights."""
        if self._learns == "classes":
            coded = coded_rows(self, X, y, sample_weight)
            self.encoding_ = coded.encoding
            return np.asarray(coded.x, float), np.eye(len(self.classes_))[coded.codes], coded.w
        x, targets, w = rows_or_items(self, X, y, sample_weight)
        rows = np.flatnonzero(w > 0.0)
        if len(rows) < 2:
            raise InputError("There is 1 sample: a row alone has no gradient.")
        x, targets, w = np.asarray(x, float)[rows], targets[rows], w[rows]
        varied = Standardizer.from_rows(targets, w)
        if not varied.scale.any():
            raise InputError("The target does not vary: no direction has any influence on it.")
        return x, varied.transform(targets), w


def _kind_of_target(X: Any, y: Any) -> str:
    """Text, categories and truth values are classes."""
    if isinstance(X, Rows):
        numeric = all(c.kind is Kind.NUMERIC for c in X.schema.targets)
        return "numbers" if numeric else "classes"
    return "numbers" if np.asarray(y).dtype.kind in "iufc" or y is None else "classes"


# -------------------------------------------------------------------------------------------------
# The fit, and its gradients.


@dataclass(frozen=True)
class SmoothFit:
    """Coefficients a (n x k) and offsets b of kernel ridge regression, for the best λ."""

    coef: Floats
    offset: Floats
    alpha: float
    gram: Floats

    @classmethod
    def of(cls, gram: Floats, targets: Floats, w: Floats) -> SmoothFit:
        """The λ of least leave-one-out error, of half decades about the mean eigenvalue."""
        root = np.sqrt(w)
        s = root / np.linalg.norm(root)
        k = root[:, None] * gram * root
        across = k @ s
        k -= np.outer(s, across) + np.outer(across - float(s @ across) * s, s)
        trace = float(np.trace(k))
        k += 2.0 * trace * np.outer(s, s)  # moves s, which is no direction of a, beyond the others
        values, vectors = linalg.eigh(k, overwrite_a=True, check_finite=False)
        values, vectors = np.maximum(values[:-1], 0.0), vectors[:, :-1]
        right = vectors.T @ (root[:, None] * targets)
        best, alpha = np.inf, 0.0
        for candidate in trace / len(w) * np.geomspace(1e2, 1e-6, 17):
            inverse = 1.0 / (values + candidate)
            errors = (vectors @ (inverse[:, None] * right)) / (vectors**2 @ inverse)[:, None]
            loss = float((errors**2).sum())
            if loss < best * (1.0 - 1e-9):
                best, alpha = loss, float(candidate)
        coef = root[:, None] * (vectors @ (right / (values + alpha)[:, None]))
        offset = (w @ (targets - gram @ coef)) / w.sum()
        return cls(coef, offset, alpha, gram)

    def certificate(self, sample: Sample) -> Certificate:
        """The objective, and how exactly (K + λ W⁻¹) a = y − b and Σ a = 0 hold."""
        w, fitted = sample.w, self.gram @ self.coef
        residual = sample.targets - fitted - self.offset
        objective = float(w @ (residual**2).sum(axis=1))
        objective += self.alpha * float(np.vdot(self.coef, fitted))
        slack = np.abs(residual - self.alpha * self.coef / w[:, None]).max()
        slack = max(float(slack), float(np.abs(self.coef.sum(axis=0)).max()) * self.alpha / w.sum())
        return Certificate(
            "The metric is that of a kernel ridge regression which solves its equations; whether "
            "another metric predicts better is not claimed",
            primal=objective,
            kkt=slack / float(np.abs(sample.targets).max()),
            tolerance=1e-8,
            promised=("kkt",),
        )


@dataclass(frozen=True)
class Sample:
    """Distinct rows in an order of their own, their mean targets and weights."""

    z: Floats
    targets: Floats
    w: Floats

    @classmethod
    def of(cls, z: Floats, targets: Floats, w: Floats, most: int) -> Sample:
        """Copies are merged: rows are left out with them."""
        distinct, which = np.unique(z, axis=0, return_inverse=True)
        which, n = which.ravel(), len(distinct)
        if n < 2:
            raise InputError("All rows are equal.", remedy="Give rows that differ.")
        total = np.bincount(which, w, n).astype(np.float64)
        means = np.column_stack([np.bincount(which, w * y, n) / total for y in targets.T])
        if not (np.ptp(means, axis=0) > 1e-12 * np.abs(means).max()).any():  # beyond rounding
            raise InputError(
                "The mean target of rows that differ is the same: no direction has any influence.",
                remedy="Give a target that depends on the columns.",
            )
        some = np.linspace(0, n - 1, min(n, most)).astype(np.int64)
        return cls(distinct[some], means[some], total[some])

    def learn(self, root: Floats) -> tuple[float, SmoothFit, Floats]:
        """The bandwidth, the fit of rows mapped by ``root``, and M for the rows themselves."""
        u = self.z @ root.T
        square = np.maximum(Gaussian(1.0).squared_distance(u), 0.0)
        share = self.w / self.w.sum()
        bandwidth = float(share @ np.sqrt(square) @ share) or 1.0
        kernel = Gaussian(bandwidth)
        fit = SmoothFit.of(kernel.gram(u), self.targets, self.w)
        m = average_gradient_outer_product(kernel, u, fit.coef, u, self.w)
        return bandwidth, fit, root.T @ m @ root
