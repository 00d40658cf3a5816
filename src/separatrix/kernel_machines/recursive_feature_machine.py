"""Kernel machines that learn their metric, for numbers and for classes.

    f(x) = b + Σⱼ aⱼ κ_M(zⱼ, x),      M ← average of ∇f ∇fᵀ over the rows, round by round

The kernel and the rounds are those of :mod:`separatrix.kernel_machines.learned_metric`; what is not
given is chosen out of fold (:mod:`separatrix.kernel_machines.metric_search`). Each fit is exact
given its metric, and certified as such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators.base import RowsEstimator, one_number, reads_tables
from separatrix.estimators.class_labels import coded_rows, label_scores
from separatrix.formula import nodes
from separatrix.kernel_machines.centers import TOLERANCE_OF_CENTERS, fit_centers
from separatrix.kernel_machines.kernel_logistic import (
    TOLERANCE,
    ClassScores,
    KernelLogisticFit,
    by_factor,
    fit_scores,
)
from separatrix.kernel_machines.learned_metric import (
    AVERAGED,
    EXPONENT,
    ColumnMaps,
    KernelFit,
    KernelShape,
    MetricCenters,
    MetricKernel,
    MetricRows,
    learn_metric,
    spread_rows,
)
from separatrix.kernel_machines.metric_search import (
    ALPHAS,
    ROUNDS,
    SHAPES,
    MetricSearch,
    SearchPoint,
    SearchResult,
    find_metric,
    fit_operations,
    search_of,
)
from separatrix.kernels import Laplace
from separatrix.messages import InputError
from separatrix.mixins import (
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.probability.calibrations import SigmoidMap, fit_platt
from separatrix.probability.roc import BinaryScores
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Encoding, identity, to_array
from separatrix.selection.folds import CV, Folds, folds_of
from separatrix.selection.tuning import Tuning, TuningData, require_classes
from separatrix.statistics.moments import prepare
from separatrix.threads import on_one_blas_thread, parallel_map, physical_memory

#: Rows up to which the fit is exact: K in double precision is then at most 800 megabytes, twice.
EXACT = 10_000
#: Centers of fits to more rows, and rows on which a metric is learned, at most.
CENTERS, LEARNED_FROM = 4_000, 2_000
#: Folds that choose: kernels and rounds differ by more than two further folds would show.
CHOOSING_FOLDS = 3
#: What is taken where there are too few rows to choose.
USUAL = SearchPoint(KernelShape(0.5, 2.0), 1, 0.1)


@dataclass(frozen=True)
class DistinctRows:
    """Rows in an order of their own, copies merged: x, weights, and targets center + unit · y."""

    x: Floats
    y: Floats
    w: Floats
    center: Floats
    unit: float
    given: Folds | None = None

    @classmethod
    def of(
        cls, x: Floats, y: Floats, w: Floats, center: Floats, unit: float, given: Folds | None
    ) -> DistinctRows:
        """Neither the order of rows nor copies in place of weights change anything from here on.

        Copies are merged if they are on the same sides of all folds that are ``given``.
        """
        y = (y - center) / unit
        sides = np.zeros((len(w), 0 if given is None else 2 * len(given)))
        for fold, pair in enumerate(given.pairs if given is not None else ()):
            for side, rows in enumerate(pair):
                sides[rows, 2 * fold + side] = 1.0
        keys = np.column_stack([y, ColumnMaps.of(x, w).apply(x), sides])
        keys = keys.round(9)  # in standard deviations: units change the last digits of doubles only
        order = np.lexsort(keys.T[::-1])
        x, y, w, keys, sides = x[order], y[order], w[order], keys[order], sides[order]
        first = np.ones(len(w), dtype=bool)
        first[1:] = (keys[1:] != keys[:-1]).any(axis=1)
        starts = np.flatnonzero(first)
        w = np.add.reduceat(w, starts)
        if given is not None:
            ends = [np.flatnonzero(side) for side in sides[starts].T]
            given = Folds(tuple(zip(ends[::2], ends[1::2], strict=True)), None)
        return cls(x[starts], y[starts], w, center, unit, given)

    def folds(self, k: int) -> Folds:
        """Rows dealt to the folds in turn, in the order of the targets, or the given folds."""
        if self.given is not None:
            return self.given
        return Folds.from_labels(np.arange(len(self.w)) % k)

    @property
    def spread(self) -> Ints:
        """An order of which every beginning is spread over the rows."""
        golden = 0.5 * (np.sqrt(5.0) - 1.0)
        return np.argsort((np.arange(len(self.w)) * golden) % 1.0, kind="stable")


def _standard_units(y: Floats, w: Floats) -> tuple[Floats, float]:
    """Mean and standard deviation of targets (n x 1); 1 of constants."""
    center = w @ y / w.sum()
    spread = float(np.sqrt(w @ ((y - center) ** 2).sum(axis=1) / w.sum()))
    return center, spread if spread > 1e-12 * float(np.abs(center).max()) else 1.0


class RecursiveFeatureMachine(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RowsEstimator):
    """A kernel machine with a learned metric: what those of numbers and of classes share."""

    _sparse_ok = False
    _calibrates = False  # needs predictions out of fold, whatever is given
    share: float | None
    spread: float | None
    alpha: float | None
    rounds: int | None
    cv: CV
    max_exact: int
    columns_: ColumnMaps
    centers_: Floats
    dual_coef_: Floats
    metric_: Floats
    certificate_: Certificate

    # -- fit

    def _fit_rows(self, rows: DistinctRows, tuning: Tuning | None = None) -> None:
        """Choose, then fit."""
        if tuning is None:
            self._fit_point(rows, self._choose(rows))
            return
        self._state_search(tuning.grid, tuning.losses)
        self._fit_point(rows, point_of(tuning.parameters))

    def _choose(self, rows: DistinctRows) -> SearchPoint:
        """The given parameters, and those that are not given by cross-validation."""
        given = {"share": self.share, "spread": self.spread, "alpha": self.alpha}
        usual, choices = USUAL.named(), self._choices()
        k = min(self.cv, len(rows.w)) if rows.given is None else len(rows.given)
        known = all(v is not None for v in (*given.values(), self.rounds))
        if k < 2 - (rows.given is not None) or (known and not self._calibrates):
            self._state_search((), np.zeros((0, 0)))
            given["rounds"] = self.rounds
            return point_of({n: usual[n] if v is None else v for n, v in given.items()})
        search = MetricSearch(
            rows.x, rows.y, rows.w, rows.folds(k), rows.spread, self._work(rows), **choices
        )
        return self._search(search, rows)

    def _work(self, rows: DistinctRows) -> float:
        """Operations of a choice: half a second, or a quarter of those of the fit if that is more.

        Half a second is seldom more than what 800 rows in three folds take.
        """
        n = min(len(rows.w), EXACT)
        return max(2.5e9, 0.25 * fit_operations(n, rows.x.shape[1], rows.y.shape[1], 1))

    def _search(self, search: MetricSearch, rows: DistinctRows) -> SearchPoint:
        """The best of what is compared."""
        found = search.find() if self._calibrates else search.choose()
        self._learn_from(found, rows)
        self._state_search([p.named() for p in found.points], found.losses * rows.unit**2)
        return found.points[found.best]

    def _choices(self) -> dict[str, Any]:
        """What is compared: one value of each parameter that is given."""
        self._check_parameters()
        shapes = tuple(
            dict.fromkeys(
                KernelShape(
                    s.share if self.share is None else float(self.share),
                    s.spread if self.spread is None else float(self.spread),
                )
                for s in SHAPES
            )
        )
        rounds = range(1, ROUNDS + 1) if self.rounds is None else (int(self.rounds),)
        alphas = ALPHAS if self.alpha is None else (float(self.alpha),)
        return {"shapes": shapes, "rounds": tuple(rounds), "alphas": alphas}

    def _check_parameters(self) -> None:
        if isinstance(self.cv, int | np.integer) and self.cv < 2:
            raise InputError(f"cv={self.cv!r}.", remedy="Give a number of folds, 2 or more.")
        if self.share is not None and not 0.0 <= self.share <= 1.0:
            raise InputError(f"share={self.share!r}.", remedy="Give a number from 0 to 1.")
        for name in ("spread", "alpha"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < np.inf:
                raise InputError(f"{name}={value!r}.", remedy="Give a number above zero.")
        if self.rounds is not None and not 0 <= self.rounds <= 100:
            raise InputError(f"rounds={self.rounds!r}.", remedy="Give a whole number from 0.")
        if not getattr(self, "max_exact", EXACT) >= 10:
            raise InputError(f"max_exact={self.max_exact!r}.", remedy="Give 10 rows or more.")

    def _given_folds(self, n: int, rows: Ints, y: Any = None, codes: Any = None) -> Folds | None:
        """The folds of a splitter or a list; a number of folds is dealt to distinct rows."""
        if isinstance(self.cv, int | np.integer):
            return None
        return folds_of(self.cv, n, y, rows=rows, codes=codes)

    def _learn_from(self, found: SearchResult, rows: DistinctRows) -> None:
        """What else is learned from the predictions out of fold."""

    def _state_search(self, grid: Any, losses: Floats) -> None:
        names = ("share", "spread", "rounds", "alpha")
        self.cv_results_ = {name: np.array([p[name] for p in grid], dtype=float) for name in names}
        self.cv_results_ |= {
            "fold_losses": losses,
            "mean_loss": losses.sum(1) / max(1, losses.shape[1]),
        }

    def _fit_point(self, rows: DistinctRows, point: SearchPoint) -> None:
        """The fit with chosen parameters: exact, or with centers on many rows."""
        mean = rows.w @ rows.y / rows.w.sum()
        right = rows.y - mean
        z, kernel = self._learn_kernel(rows, right, point)
        exact = len(z) <= self.max_exact
        some = np.arange(len(z)) if exact else spread_rows(len(z), min(CENTERS, self.max_exact))
        fit = _fit_rows_exactly if exact else _fit_to_centers
        coef, offset, self.alpha_, certificate = fit(kernel, z, right, rows, some, point)
        self.middle_, self.centers_ = z[some].mean(axis=0), z[some]
        self.dual_coef_ = coef * rows.unit
        self.intercept_ = (mean + offset) * rows.unit + rows.center
        self.certificate_ = certificate

    def _learn_kernel(
        self, rows: DistinctRows, right: Floats, point: SearchPoint
    ) -> tuple[Floats, MetricKernel]:
        """Mapped rows, and the kernel of the metric that is learned from them."""
        self.columns_ = ColumnMaps.of(rows.x, rows.w)
        z, shape = self.columns_.apply(rows.x), point.shape
        some = spread_rows(len(z), LEARNED_FROM)
        metric = learn_metric(z[some], right[some], rows.w[some], shape, point.rounds)
        kernel = MetricKernel.of(metric, shape, z, rows.w)
        self.rounds_, self.share_, self.spread_ = point.rounds, shape.share, shape.spread
        self.metric_, self.turn_, self.scale_ = metric.matrix, kernel.turn, kernel.scale
        e, v = metric.e, metric.v
        if not len(e):
            e, v = np.full(len(v), metric.rest), np.eye(len(v))
        signs = np.where(v[np.abs(v).argmax(axis=0), np.arange(len(e))] < 0.0, -1.0, 1.0)
        self.eigenvalues_, self.eigenvectors_ = e, v * signs
        return z, kernel

    # -- predictions

    @property
    def _kernel(self) -> MetricKernel:
        return MetricKernel(self.share_, self.turn_, self.scale_)

    def _values(self, X: Any) -> Floats:
        """f of new rows (n x k)."""
        z = self._mapped(X)
        centers = self._prepare()
        return np.asarray(centers.dot(centers.rows(z), self.dual_coef_) + self.intercept_)

    def _mapped(self, X: Any) -> Floats:
        x = np.asarray(to_array(self._design(X)), dtype=np.float64)
        return self.columns_.apply(x)

    def _prepare(self) -> MetricCenters:
        kernel, z = self._kernel, self.centers_ - self.middle_
        u, v = np.ascontiguousarray(z @ kernel.turn), np.ascontiguousarray(z * kernel.scale)
        return MetricCenters(kernel, self.middle_, u, v)

    @property
    def _n_features_out(self) -> int:
        return int(self.turn_.shape[1])

    @on_one_blas_thread
    def transform(self, X: Any) -> Floats:
        """Rows whose Euclidean distances are those of the learned metric, in bandwidths."""
        z = self._mapped(X)
        return np.asarray((z - self.middle_) @ self.turn_)

    def directions(self, count: int = 3) -> list[tuple[float, dict[str, float]]]:
        """The leading eigenvectors of the metric: (share of the trace, column → loading)."""
        names = self._column_names()
        return [
            (float(e), dict(zip(names, v.tolist(), strict=True)))
            for e, v in zip(self.eigenvalues_[:count], self.eigenvectors_.T[:count], strict=True)
        ]

    def _column_names(self) -> tuple[str, ...]:
        return tuple(str(name) for name in self.encoding_.names)

    def _expansion(self, names: tuple[str, ...] = ()) -> nodes.Node:
        """Σⱼ aⱼ κ(zⱼ, x) + b, both parts of κ in coordinates of their own."""
        x = nodes.design_of(self)
        used = [j for j, knots in enumerate(self.columns_.knots) if len(knots) > 1]
        mapped = tuple(
            nodes.Piecewise(
                nodes.Columns(x, (j,)), self.columns_.knots[j], self.columns_.knots[j],
                self.columns_.values[j], names=(f"{self._column_names()[j]} mapped",),
            )
            for j in used
        )  # fmt: skip
        if not used:
            return nodes.Constants(x, self.intercept_, names=names)
        z: nodes.Node = nodes.Joined(mapped)
        middle, scale = self.middle_[used], self.scale_[used]
        centers = self.centers_[:, used] - middle
        parts: list[nodes.Node] = []
        turned = nodes.Affine(z, self.turn_[used], 0.0, middle)
        scaled = nodes.Standardization(z, middle, scale)
        none = np.zeros_like(self.intercept_)
        if self.share_ < 1.0:
            kernel, a = Laplace(1.0, EXPONENT), (1.0 - self.share_) * self.dual_coef_
            parts.append(
                nodes.KernelSum(turned, kernel, centers @ self.turn_[used], a, self.intercept_)
            )
        if self.share_ > 0.0:
            b = none if parts else self.intercept_
            kernel, a = Laplace(1.0, norm=1), self.share_ * self.dual_coef_
            parts.append(nodes.KernelSum(scaled, kernel, centers * scale, a, b))
        if len(parts) == 1:
            return replace(parts[0], names=names)
        return nodes.WeightedSum(tuple(parts), np.ones(2), names=names)


Fitted = tuple[Floats, Floats, float, Certificate]


def _fit_rows_exactly(
    kernel: MetricKernel, z: Floats, right: Floats, rows: DistinctRows, _: Ints, point: SearchPoint
) -> Fitted:
    """Coefficients and offsets with every row as a center, λ, and the certificate."""
    centers = kernel.prepare(z)
    fit = KernelFit(centers.gram(), right, rows.w)
    lam, unit = point.alpha * fit.unit, rows.unit**2
    coef, offset = fit.solve(point.alpha)
    primal, gap = _gap(centers, right, rows.w, coef, offset, lam)
    certificate = Certificate(
        "Kernel ridge regression, exact given its metric",
        primal=primal * unit, dual=(primal - gap) * unit, gap=gap * unit,
        tolerance=TOLERANCE, scale=float(rows.w @ (right**2).sum(axis=1)) * unit,
        scale_of="the sum of squares about the mean",
        notes=_say_metric(point, len(z)), promised=("gap",),
    )  # fmt: skip
    return coef, offset, lam, certificate


def _fit_to_centers(
    kernel: MetricKernel, z: Floats, right: Floats, rows: DistinctRows, some: Ints,
    point: SearchPoint,
) -> Fitted:  # fmt: skip
    """The same with some rows as centers, which are known to a residual."""
    few = spread_rows(len(z), AVERAGED)
    unit = KernelFit(kernel.prepare(z[few]).gram(), right[few], rows.w[few]).unit
    lam = point.alpha * unit
    solved = fit_centers(kernel, z, right, rows.w, z[some], lam)
    certificate = Certificate(
        f"Kernel ridge regression on {len(some):,} of {len(z):,} rows as centers, given its "
        "metric, by conjugate gradients",
        primal=solved.objective * rows.unit**2, kkt=solved.residual,
        tolerance=TOLERANCE_OF_CENTERS, notes=_say_metric(point, len(z)), promised=("kkt",),
    )  # fmt: skip
    return solved.coef, np.zeros(right.shape[1]), lam, certificate


def _say_metric(point: SearchPoint, n: int) -> tuple[str, ...]:
    learned = f" It was learned from {LEARNED_FROM:,} rows." if n > LEARNED_FROM else ""
    found = f"The metric was found in {point.rounds} rounds and is not claimed to be optimal."
    return (found + learned,)


def _gap(
    centers: MetricCenters, right: Floats, w: Floats, coef: Floats, offset: Floats, lam: float
) -> tuple[float, float]:
    """Objective Σ w ‖y − f − b‖² + λ ‖f‖² and its duality gap.

    With ρ = y − b − K a − λ W⁻¹ a the gap is Σ w ρ², where λ a sums to zero: what it sums to, times
    the offset that would undo it, is added. Kernel values are computed again.
    """
    values = centers.dot(centers, coef)
    error = right - values - offset
    residual = error - lam * coef / w[:, None]
    primal = float((w @ error**2).sum() + lam * np.vdot(coef, values))
    feasible = lam * np.abs(coef.sum(axis=0)) @ np.abs(error).max(axis=0)
    return primal, float((w @ residual**2).sum() + feasible)


def point_of(parameters: Mapping[str, Any]) -> SearchPoint:
    """A combination from its parameters."""
    shape = KernelShape(float(parameters["share"]), float(parameters["spread"]))
    return SearchPoint(shape, int(parameters["rounds"]), float(parameters["alpha"]))


# -------------------------------------------------------------------------------------------------
# Regression.


@declare_parameters
class RecursiveFeatureMachineRegressor(RegressorMixin, RecursiveFeatureMachine):
    """Kernel ridge regression whose metric is learned from the gradients of its own fits.

        f = argmin Σ w (y − f(x) − b)² + λ ‖f‖²  over functions of the kernel
        κ(x, z) = (1 − τ) exp(−(‖x − z‖_M/h)^1.5) + τ exp(−Σⱼ √Mⱼⱼ |xⱼ − zⱼ|/g)
        M ← Σ w ∇f ∇fᵀ / Σ w,  scaled to trace one, for a number of rounds

    Columns are standardized, those with outliers ranked, and columns of two values become 0 and 1.
    What is None is chosen by cross-validation with the metric learned inside each training fold.
    The metric is learned on 2,000 rows at most. The fit is exact, given its metric, up to
    ``max_exact`` rows; more are fitted with 4,000 centers, by preconditioned conjugate gradients.

    Parameters
    ----------
    share : float or None, default=None
    spread : float or None, default=None
    alpha : float or None, default=None
        λ, in multiples of the mean of 1 − κ over pairs of rows.
    rounds : int or None, default=None
    cv : int, splitter or iterable of (train, test), default=3
        Folds that choose; of a number, rows are dealt to them in the order of the target.
    max_exact : int, default=10000

    Attributes
    ----------
    metric_ : ndarray of shape (d, d)
        M, of trace one, in the coordinates of the mapped columns.
    eigenvalues_, eigenvectors_ : ndarray of shape (r,) and (d, r)
        Those of M, the largest first: the directions in which f varies. See :meth:`directions`.
        Where columns outnumber gradients all others have the least eigenvalue, and are left out.
    rounds_, alpha_, share_, spread_ : int and float
        What was chosen; ``alpha_`` is λ itself.
    cv_results_ : dict of ndarray
        Every combination compared, with its loss on each fold.
    columns_ : ColumnMaps
        The functions that map the columns.
    centers_ : ndarray of shape (m, d)
        Mapped rows z of the expansion.
    dual_coef_, intercept_ : ndarray of shape (m, 1) and (1,)
        Coefficients a and offset b.
    certificate_ : Certificate
        Duality gap of the fit given its metric.

    See Also
    --------
    GaussianProcessRegressor : length scales by evidence.
    SVRSearch : a Gaussian kernel with one bandwidth.

    References
    ----------
    A. Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin, Mechanism for feature learning in
    neural networks and backpropagation-free machine learning models, Science 383, 2024.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> X = np.random.default_rng(0).normal(size=(120, 4))
    >>> y = np.sin(X[:, 0] + X[:, 1])
    >>> model = sx.RecursiveFeatureMachineRegressor().fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    >>> [round(float(abs(v)), 1) for v in model.eigenvectors_[:2, 0]]
    [0.7, 0.7]
    """

    _: KW_ONLY
    share: float | None = None
    spread: float | None = None
    alpha: float | None = None
    rounds: int | None = None
    cv: CV = CHOOSING_FOLDS
    max_exact: int = EXACT

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose and fit, to ``X`` and numbers ``y`` or :class:`~separatrix.rows.rows.Rows`."""
        self._check_parameters()
        self._fit_rows(self._numbers(X, y, sample_weight))
        return self

    def _numbers(self, X: Any, y: Any, sample_weight: Any) -> DistinctRows:
        rows = self._training_rows(X, y, sample_weight)
        if isinstance(rows, ArrayRows):
            block, self.encoding_ = rows.block, identity(rows.schema)
        else:
            prepared = prepare(rows)
            block, self.encoding_ = prepared.rows.collect(), prepared.encoding
        one_number(block.targets)
        w = np.asarray(block.weights, dtype=np.float64)
        some = np.flatnonzero(w > 0.0)
        x = np.asarray(to_array(block.x), dtype=np.float64)
        x, target, w = x[some], np.asarray(block.y, dtype=np.float64)[some], w[some]
        folds = self._given_folds(len(block.weights), some, target[:, 0])
        return DistinctRows.of(x, target, w, *_standard_units(target, w), folds)

    @on_one_blas_thread
    def tune(self, data: TuningData) -> Tuning:
        """Compare on the folds; predictions are numbers."""
        y = np.asarray(data.y, dtype=np.float64).reshape(len(data.w), 1)
        center, unit = _standard_units(y, data.w)
        found = find_metric(data, (y - center) / unit, **self._choices())
        losses = found.losses * unit**2
        return _tuning(found, losses, (found.predictions * unit + center)[:, 0], "values", data)

    @on_one_blas_thread
    def fit_tuned(self, rows: Any, tuning: Tuning) -> Self:
        """Fit to all rows with the parameters that were chosen."""
        self._fit_rows(self._numbers(rows, None, None), tuning)
        return self

    @on_one_blas_thread
    def predict(self, X: Any) -> Floats:
        """f(x) of every row."""
        return self._values(X)[:, 0]

    def formula(self) -> nodes.NumberFormula:
        """Kernel sums over the centers, along directions and along columns."""
        return nodes.regression(self._expansion(), self, flat=True)


def _tuning(
    found: SearchResult,
    losses: Floats,
    predictions: Floats,
    kind: str,
    data: TuningData,
    **more: Any,
) -> Tuning:
    return Tuning(
        found.points[found.best].named(), tuple(p.named() for p in found.points), losses,
        found.by_fold, found.rows, predictions, kind, found.note(data), **more,
    )  # fmt: skip


# -------------------------------------------------------------------------------------------------
# Classification.


class LearnedMetricClassifier(ClassifierMixin, RecursiveFeatureMachine):
    """What machines of classes share: labels in, indicators for the fit."""

    class_weight: Any

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose and fit, to ``X`` and labels ``y`` or :class:`~separatrix.rows.rows.Rows`."""
        self._check_parameters()
        self._fit_rows(self._read_classes(X, y, sample_weight))
        return self

    def _read_classes(self, X: Any, y: Any, sample_weight: Any) -> DistinctRows:
        """Rows with the indicators of their classes."""
        data = coded_rows(self, X, y, sample_weight, self.class_weight)
        self.encoding_: Encoding = data.encoding
        x = np.asarray(to_array(data.x), dtype=np.float64)
        hot = indicators(data.codes, len(self.classes_))
        folds = self._given_folds(data.n_samples, data.rows, codes=data.codes)
        return DistinctRows.of(x, hot, data.w, np.zeros(hot.shape[1]), 1.0, folds)

    @on_one_blas_thread
    def fit_tuned(self, rows: Any, tuning: Tuning) -> Self:
        """Fit to all rows with the parameters that were chosen."""
        self._fit_rows(self._read_classes(rows, None, None), tuning)
        return self


@declare_parameters
class RecursiveFeatureMachineClassifier(LearnedMetricClassifier):
    """Kernel machine of classes whose metric is learned from the gradients of its own fits.

        f_k = kernel ridge regression of the indicator of class k, as in
        :class:`RecursiveFeatureMachineRegressor`, all with one metric:
        M ← Σ w Σₖ ∇f_k ∇f_kᵀ / Σ w
        P(k | x) ∝ 1/(1 + exp(−αₖ f_k(x) − βₖ))

    The sigmoids are fitted to predictions out of fold, which have not seen the rows.

    Parameters
    ----------
    share : float or None, default=None
    spread : float or None, default=None
    alpha : float or None, default=None
        λ, in multiples of the mean of 1 − κ over pairs of rows.
    rounds : int or None, default=None
    class_weight : dict, "balanced" or None, default=None
    cv : int, splitter or iterable of (train, test), default=3
        Folds that choose and calibrate; of a number, rows of each class are dealt to them in turn.
    max_exact : int, default=10000

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes.
    calibration_ : tuple of SigmoidMap
        The sigmoid of the second of two classes, or of each.
    metric_, eigenvalues_, eigenvectors_, rounds_, alpha_, share_, spread_, cv_results_ : object
        As in :class:`RecursiveFeatureMachineRegressor`, like the further attributes there.
    columns_, centers_, dual_coef_, intercept_, certificate_ : object
        Likewise, with a column of coefficients for the second of two classes, or for each.

    See Also
    --------
    RecursiveFeatureMachineRegressor : the same for numbers.
    SVCSearch : a Gaussian kernel with one bandwidth.

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = sx.RecursiveFeatureMachineClassifier().fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> model.predict_proba(X[:1]).argmax()
    np.int64(0)
    """

    _calibrates = True

    _: KW_ONLY
    share: float | None = None
    spread: float | None = None
    alpha: float | None = None
    rounds: int | None = None
    class_weight: Any = None
    cv: CV = CHOOSING_FOLDS
    max_exact: int = EXACT

    def _fit_rows(self, rows: DistinctRows, tuning: Tuning | None = None) -> None:
        self.calibration_: tuple[SigmoidMap, ...] = () if tuning is None else tuning.start
        super()._fit_rows(rows, tuning)
        if not self.calibration_:  # nothing was predicted out of fold: f itself is a probability
            self.calibration_ = (SigmoidMap(4.0, 0.5, 0.0),) * rows.y.shape[1]

    def _learn_from(self, found: SearchResult, rows: DistinctRows) -> None:
        order = found.rows
        self.calibration_ = _calibrate(found.predictions, rows.y[order], rows.w[order])

    @on_one_blas_thread
    def tune(self, data: TuningData) -> Tuning:
        """Compare on the folds; predictions are probabilities, calibrated on the other folds."""
        require_classes(data)
        y = indicators(np.asarray(data.y, dtype=np.int64), data.n_classes)
        found = find_metric(data, y, **self._choices())
        truth, w, fold = y[found.rows], data.w[found.rows], data.fold[found.rows]
        starts, p = [], np.empty((len(found.rows), data.n_classes))
        for number in range(len(data.folds)):
            other, own = fold != number, fold == number
            maps = _calibrate(found.predictions[other], truth[other], w[other])
            starts.append(maps)
            p[own] = _probabilities(maps, found.predictions[own])
        start = _calibrate(found.predictions, truth, w)
        return _tuning(
            found, found.losses, p, "probabilities", data, start=start, starts=tuple(starts)
        )

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """f of the second of two classes less a half, or of every class."""
        values = self._values(X)
        return values[:, 0] - 0.5 if len(self.classes_) == 2 else values

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities in the order of ``classes_``."""
        values = self._values(X)
        return _probabilities(self.calibration_, values)

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row."""
        likely = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likely])

    def formula(self) -> nodes.ClassFormula:
        """Sigmoids of kernel sums over the centers."""
        values = self._expansion()
        p = nodes.calibrate_scores(self.calibration_, values, self.classes_)
        names = nodes.score_names(self.classes_)
        scores = replace(values, names=names)
        if len(self.classes_) == 2:
            scores = nodes.Affine(values, np.eye(1), -0.5, names=names)
        return nodes.by_probability(p, self.classes_, scores)


def indicators(codes: Ints, k: int) -> Floats:
    """Of the second of two classes, or of every class."""
    hot = np.eye(k)[codes]
    return hot[:, 1:] if k == 2 else hot


def _calibrate(values: Floats, hot: Floats, w: Floats) -> tuple[SigmoidMap, ...]:
    """Platt's sigmoid of each column; a class that is everywhere or nowhere keeps its rate."""
    maps = []
    for value, is_class in zip(values.T, hot.T > 0.5, strict=True):
        if is_class.all() or not is_class.any():
            maps.append(SigmoidMap(0.0, 0.0, 35.0 if is_class.all() else -35.0))
            continue
        rows = BinaryScores(np.ascontiguousarray(value), is_class, w, np.array([0, 1]), 1)
        maps.append(fit_platt(rows)[0])
    return tuple(maps)


def _probabilities(maps: tuple[SigmoidMap, ...], values: Floats) -> Floats:
    p = np.column_stack([m.probability(values[:, j]) for j, m in enumerate(maps)])
    if p.shape[1] == 1:
        return np.column_stack([1.0 - p, p])
    total = p.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, p / np.where(total > 0.0, total, 1.0), 1.0 / p.shape[1])


# -------------------------------------------------------------------------------------------------
# Classes by the loss they are judged by.
#
#     min over f, b of Σ w ℓ(y, f(x) + b) + ½ λ Σₖ ‖fₖ‖²,   ℓ = log Σₖ exp(fₖ + bₖ) − f_y − b_y
#
# M comes from the rounds of ridge regressions, which a factorization solves; λ is chosen by the log
# loss of rows left out, along a path that starts from the largest.

#: Values of λ in units of the kernel's variance, from strong to hardly any shrinkage.
PENALTIES = (3.0, 0.75, 0.2, 0.05, 0.012, 0.003)


@dataclass(frozen=True)
class PenaltyPath:
    """Penalties, their log losses on every fold, the chosen ones, and probabilities of the rows.

    Each fold has the kernel and the penalty that the others choose.
    """

    alphas: tuple[float, ...]
    losses: Floats
    best: int
    by_fold: Ints
    probabilities: Floats


def follow_penalties(
    search: MetricSearch, found: SearchResult, alphas: Sequence[float]
) -> PenaltyPath:
    """Penalties for the kernel that was found without each fold, the largest first.

    A penalty is the best of those before a loss that has risen: less shrinkage would be worse
    still. For a fold that is the loss of the others, and no further penalty is computed once the
    losses of all have risen, those without each fold and that of all folds.
    """
    fits = parallel_map(
        lambda fold: FoldPath.of(search, found, fold), list(range(len(search.folds)))
    )
    weights = np.array([fit.w.sum() for fit in fits])
    losses: list[Floats] = []
    made: list[list[Floats]] = []
    for alpha in alphas:
        made.append(parallel_map(partial(FoldPath.next, alpha=alpha), fits))
        losses.append(np.array([f.loss(p) for f, p in zip(fits, made[-1], strict=True)]))
        if _first_minima(_sums(np.array(losses), weights)).max() < len(losses) - 1:
            break
    table = np.array(losses)
    best, *by_fold = _first_minima(_sums(table, weights)).tolist()
    p = np.concatenate([made[by_fold[fold]][fold] for fold in range(len(fits))])
    return PenaltyPath(tuple(alphas[: len(table)]), table, best, np.array(by_fold), p)


def _sums(losses: Floats, weights: Floats) -> Floats:
    """Loss of all folds, and of those other than each: (penalties, 1 + folds)."""
    total = losses @ weights
    return np.column_stack([total, total[:, None] - losses * weights])


def _first_minima(sums: Floats) -> Ints:
    """The last place of every column before it rises."""
    rises = np.vstack([sums[1:] > sums[:-1], np.ones((1, sums.shape[1]), dtype=bool)])
    return np.asarray(rises.argmax(axis=0))


@dataclass
class FoldPath:
    """Training rows of a fold with their kernel, the rows it predicts, and the fit before."""

    gram: Floats
    unit: float
    hot: Floats
    cost: Floats
    new: Floats
    truth: Ints
    w: Floats
    solved: KernelLogisticFit | None = None

    @classmethod
    def of(cls, search: MetricSearch, found: SearchResult, fold: int) -> FoldPath:
        """With the kernel that was found without the fold."""
        test, point = found.tests[fold], found.points[found.by_fold[fold]]
        part = search.mapped(fold, test, found.n_train)
        rows = MetricRows.of(found.metrics[fold], part.z, part.w, np.float32)
        fit = rows.fit(point.shape, part.right)
        hot = search.y[test]
        truth = hot[:, 0] if hot.shape[1] == 1 else hot.argmax(axis=1)
        return cls(
            fit.gram.astype(np.float64), fit.unit, part.right + part.center, part.w,
            rows.values(point.shape, rows.pairs_with(part.new)).astype(np.float64),
            truth.astype(np.int64), search.w[test],
        )  # fmt: skip

    def next(self, alpha: float) -> Floats:
        """Probabilities at the next penalty of the path."""
        problem = ClassScores(self.hot, self.cost / (alpha * self.unit), self.gram)
        start = by_factor(self.gram, problem.cost)
        # to a relative gap of 0.003: log losses differ by far more
        self.solved = fit_scores(problem, start, self.solved, 3e-3)
        return class_probabilities(self.new @ self.solved.coef + self.solved.offset)

    def loss(self, p: Floats) -> float:
        """Mean log loss."""
        return float(self.w @ -np.log(p[np.arange(len(p)), self.truth]) / self.w.sum())


def class_probabilities(scores: Floats) -> Floats:
    """A column for each class, none of them zero."""
    if scores.shape[1] == 1:
        p = np.concatenate([expit(-scores), expit(scores)], axis=1)
    else:
        p = np.asarray(softmax(scores, axis=1))
    return np.asarray(np.maximum(p, np.finfo(float).tiny))


@declare_parameters
class LogisticRecursiveFeatureMachine(LearnedMetricClassifier):
    """Kernel logistic regression whose metric is learned from the gradients of kernel fits.

        min over f, b of Σ w ℓ(y, f(x) + b) + ½ λ Σₖ ‖fₖ‖²  over functions of the kernel κ_M of
        :class:`RecursiveFeatureMachineClassifier`, whose rounds learn M

    Probabilities are those of the loss that is minimized, and need no calibration. Kernel and
    rounds are chosen by the squared error of rows left out, λ by their log loss, with the metric
    learned inside each training fold. Every training row is a center.

    Parameters
    ----------
    share : float or None, default=None
    spread : float or None, default=None
    alpha : float or None, default=None
        λ, in multiples of the mean of 1 − κ over pairs of rows.
    rounds : int or None, default=None
    class_weight : dict, "balanced" or None, default=None
    cv : int, splitter or iterable of (train, test), default=3
        Folds that choose; of a number, rows of each class are dealt to them in turn.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes.
    n_iter_ : int
        Newton steps.
    metric_, eigenvalues_, eigenvectors_, rounds_, alpha_, share_, spread_, cv_results_ : object
        As in :class:`RecursiveFeatureMachineRegressor`; losses are log losses.
    columns_, centers_, dual_coef_, intercept_ : object
        Likewise, with a column of coefficients for the second of two classes, or for each.
    certificate_ : Certificate
        Duality gap of the fit given its metric.

    See Also
    --------
    RecursiveFeatureMachineClassifier : the same by least squares, for more rows.
    KernelLogisticRegressionCV : any kernel that is given.

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = sx.LogisticRecursiveFeatureMachine().fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> model.predict_proba(X[:1]).round(1).tolist()
    [[1.0, 0.0, 0.0]]
    """

    _: KW_ONLY
    share: float | None = None
    spread: float | None = None
    alpha: float | None = None
    rounds: int | None = None
    class_weight: Any = None
    cv: CV = CHOOSING_FOLDS

    @property
    def _alphas(self) -> tuple[float, ...]:
        return PENALTIES if self.alpha is None else (float(self.alpha),)

    def _fit_rows(self, rows: DistinctRows, tuning: Tuning | None = None) -> None:
        n = len(rows.w)
        # K, its lower half, a weighted copy and its factor
        if 4 * 8.0 * n**2 > physical_memory():
            raise InputError(
                f"The kernel values of {n:,} rows with each other do not fit into memory.",
                remedy="Use RecursiveFeatureMachineClassifier, which takes some rows as centers.",
            )
        super()._fit_rows(rows, tuning)

    def _choices(self) -> dict[str, Any]:
        """What ridge regressions compare: all of their penalties."""
        return {**super()._choices(), "alphas": ALPHAS}

    def _search(self, search: MetricSearch, _: DistinctRows) -> SearchPoint:
        found = search.choose()
        path = follow_penalties(search, found, self._alphas)
        points = [replace(found.points[found.best], alpha=a) for a in path.alphas]
        self._state_search([p.named() for p in points], path.losses)
        return points[path.best]

    def _fit_point(self, rows: DistinctRows, point: SearchPoint) -> None:
        z, kernel = self._learn_kernel(rows, rows.y - rows.w @ rows.y / rows.w.sum(), point)
        centers = kernel.prepare(z)
        fit = KernelFit(centers.gram(), rows.y, rows.w)
        lam, gram = point.alpha * fit.unit, fit.gram + np.tril(fit.gram, -1).T
        problem = ClassScores(rows.y, rows.w / lam, gram)
        solved = fit_scores(problem, by_factor(gram, problem.cost))
        self.middle_, self.centers_ = centers.middle, z
        self.alpha_, self.n_iter_ = lam, solved.steps
        self.dual_coef_, self.intercept_ = solved.coef, solved.offset
        self.certificate_ = _certify_logistic(problem, centers, solved, lam, point.rounds)

    @on_one_blas_thread
    def tune(self, data: TuningData) -> Tuning:
        """Compare on the folds; predictions are probabilities."""
        require_classes(data)
        y = indicators(np.asarray(data.y, dtype=np.int64), data.n_classes)
        choices = self._choices()
        found = find_metric(data, y, **choices)
        path = follow_penalties(search_of(data, y, **choices), found, self._alphas)
        points = [replace(found.points[found.best], alpha=a).named() for a in path.alphas]
        return Tuning(
            points[path.best], tuple(points), path.losses,
            path.by_fold, found.rows, path.probabilities, "probabilities", found.note(data),
        )  # fmt: skip

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """f(x) + b: of the second of two classes, or of every class."""
        scores = self._values(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities in the order of ``classes_``."""
        return class_probabilities(self._values(X))

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row."""
        return label_scores(self.decision_function(X), self.classes_)

    def formula(self) -> nodes.ClassFormula:
        """Probabilities of kernel sums over the centers."""
        scores = self._expansion(nodes.score_names(self.classes_))
        return nodes.by_score(
            scores, self.classes_, probabilities=nodes.probabilities(scores, self.classes_)
        )


def _certify_logistic(
    problem: ClassScores, centers: MetricCenters, solved: KernelLogisticFit, lam: float, rounds: int
) -> Certificate:
    """The gap in units of the objective, from kernel values that are computed again."""
    a, b = solved.coef, solved.offset
    f = centers.dot(centers, a) + b
    primal = problem.loss(f) + 0.5 * float(np.vdot(a, f - b))
    p = problem.means(f)
    unbalanced = float(np.abs(problem.pull(p).sum(axis=0)) @ np.abs(b))
    dual = problem.bound(p) - unbalanced
    return Certificate(
        "Kernel logistic regression, exact given its metric",
        primal=primal * lam, dual=dual * lam, gap=max(primal - dual, 0.0) * lam,
        tolerance=TOLERANCE, scale=float(problem.cost.sum()) * lam * 1e-3,
        scale_of="a thousandth of the weight of the rows",
        notes=(f"The metric was found in {rounds} rounds and is not claimed to be optimal.",),
        promised=("gap",),
    )  # fmt: skip
