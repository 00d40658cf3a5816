"""Kernel ridge regression: at one penalty, and at the best of all of them.

    min over f of Σ w (y − f(x))² + α ‖f‖²,     f = Σⱼ aⱼ κ(xⱼ, ·),     (K + α W⁻¹) a = y

Rows left out are predicted in closed form (:mod:`separatrix.kernel_machines.spectrum`). For any
coefficients a the duality gap is Σ w ρ² with ρ = y − K a − α W⁻¹ a.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.estimators.base import reads_tables, rows_or_items
from separatrix.formula import nodes
from separatrix.kernel_machines.base import ExpansionModel, copies_together
from separatrix.kernel_machines.spectrum import RidgeSystem, decompose, factorize
from separatrix.kernels import Precomputed
from separatrix.messages import InputError
from separatrix.mixins import RegressorMixin
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import Rows
from separatrix.selection.folds import CV, copies_of, folds_of
from separatrix.threads import on_one_blas_thread

#: Relative duality gap, or residual of the normal equations, of a closed form.
TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class KernelRidgeTable:
    """What is fitted: K, whether its kernel is Mercer's, targets (n x k), weights, copies."""

    gram: Floats
    mercer: bool
    y: Floats
    w: Floats
    units: Ints | None


@dataclass(frozen=True)
class KernelRidgeFits:
    """Fits without each row: what they say of it, and how far coefficients a are from theirs."""

    own: Floats
    change: Floats

    def at(self, model: Any, X: Any) -> Floats:
        """ŷ₋ᵢ(x) (m x n)."""
        x = model._kernel_input(X)
        return np.asarray(model.predict(X)[:, None] - model._expansion(self.change.T).scores(x))


class KernelRidgeBase(RegressorMixin, ExpansionModel):
    """Kernel ridge regression with a penalty for every target."""

    _multi_output = True
    y_fit_: Floats
    row_weight_: Floats
    penalties_: Floats

    def _table(self, X: Any, y: Any, sample_weight: Any) -> KernelRidgeTable:
        x, target, w = rows_or_items(self, X, y, sample_weight)
        self._flat = target.shape[1] == 1 and (isinstance(X, Rows) or np.asarray(y).ndim != 2)
        gram, mercer = self._training_gram(x, w)
        self.y_fit_, self.row_weight_ = target, w
        return KernelRidgeTable(gram, mercer, target, w, copies_together(x, target))

    def _accept(self, rows: KernelRidgeTable, coef: Floats, penalties: Floats) -> None:
        self.dual_coef_ = coef[:, 0] if self._flat else coef
        self.penalties_ = penalties
        self.certificate_ = self._certify(rows, coef, penalties)

    def _certify(self, rows: KernelRidgeTable, coef: Floats, penalties: Floats) -> Certificate:
        """The gap, from kernel values that are computed again."""
        some = np.flatnonzero(rows.w > 0.0)
        w, y, a = rows.w[some], rows.y[some], coef[some]
        if isinstance(self.kernel_, Precomputed):
            values = rows.gram[some] @ coef
        else:
            values = self._expansion(coef).scores(self.X_fit_)[some]
        error = y - values
        rest = error - penalties * a / w[:, None]
        primal = float((w @ error**2).sum() + penalties @ np.einsum("nk,nk->k", a, values))
        size = float((w @ y**2).sum())
        if rows.mercer and (penalties > 0.0).all():
            gap = float((w @ rest**2).sum())
            return Certificate(
                "Kernel ridge regression: no function of the kernel has a lower objective",
                primal=primal, dual=primal - gap, gap=gap, tolerance=TOLERANCE, scale=size,
                scale_of="the sum of squares of the targets", promised=("gap",),
            )  # fmt: skip
        k = rows.gram[np.ix_(some, some)]
        largest = float(np.abs(k).max(initial=0.0)) * float((w @ np.abs(y)).max()) or 1.0
        kkt = float(np.abs(k @ (w[:, None] * rest)).max(initial=0.0)) / largest
        return Certificate(
            "Kernel ridge regression: the normal equations hold", primal=primal, kkt=kkt,
            tolerance=TOLERANCE, promised=("kkt",),
        )  # fmt: skip

    @on_one_blas_thread
    def predict(self, X: Any) -> Floats:
        """f(x) of every row, of every target."""
        x = self._kernel_input(X)
        values = self._expansion(self.dual_coef_.reshape(len(self.dual_coef_), -1)).scores(x)
        return values[:, 0] if self.dual_coef_.ndim == 1 else values

    def formula(self) -> nodes.NumberFormula:
        """Sums of kernel values of the training rows."""
        coef = self.dual_coef_.reshape(len(self.dual_coef_), -1)
        flat = self.dual_coef_.ndim == 1
        return nodes.regression(self._expansion_formula(coef), self, flat=flat, count=coef.shape[1])

    @on_one_blas_thread
    def leave_one_out(self) -> Floats:
        """What the fit to the other rows says of each training row, in closed form.

        A row is left out with its whole weight and its copies. One without weight takes no part,
        and is predicted.
        """
        systems, y, units = self._found
        left = np.empty(y.shape)
        for alpha, targets, system in systems:
            values = system.leave_one_out(y[:, targets], np.array([alpha]), units)
            left[:, targets] = values[0]
        return left[:, 0] if self.dual_coef_.ndim == 1 else left

    def leave_one_out_fits(
        self, X: Any, y: Any = None, sample_weight: Any = None, units: Ints | None = None
    ) -> KernelRidgeFits | None:
        """The fits without each of the training rows, in closed form; None if there is none.

        Rows of one number in ``units`` are left out together. What is estimated from all rows
        (units of columns, a bandwidth) would depend on each, so that there is none.
        """
        del X, y, sample_weight  # the rows are those that the model holds
        adapts = self.standardize or isinstance(self.gamma, str) or hasattr(self, "alphas_")
        numbers = self._structures or self._precomputed or not self.encoding_.is_identity
        if adapts or numbers or self.dual_coef_.ndim > 1 or not (self.row_weight_ > 0.0).all():
            return None
        [(alpha, _, system)], target, _ = self._found
        own = system.leave_one_out(target, np.array([alpha]), units)[0, :, 0]
        change = np.empty((len(own), len(own)))
        every = np.arange(len(own))
        for i in every:
            rows = every[i : i + 1] if units is None else np.flatnonzero(units == units[i])
            change[i] = self.dual_coef_ - system.without(target, alpha, rows)[0][:, 0]
        return KernelRidgeFits(own, change)

    @property
    def _found(self) -> tuple[list[tuple[float, Any, RidgeSystem]], Floats, Ints | None]:
        """The factored systems of the last fit, or of the rows that the model holds."""
        known = self.__dict__.get("_systems")
        if known is not None:
            return known  # type: ignore[no-any-return]
        if isinstance(self.kernel_, Precomputed):
            raise InputError(
                "A stored model does not hold its Gram matrix.", remedy="Fit it again first."
            )
        gram = np.asarray(self.kernel_.prepare(self.X_fit_).gram(), dtype=np.float64)
        units = copies_together(self.X_fit_, self.y_fit_)
        rows = KernelRidgeTable(gram, True, self.y_fit_, self.row_weight_, units)
        systems = [(p, t, _system(rows, p)) for p, t in _by_penalty(self.penalties_)]
        self.__dict__["_systems"] = found = systems, self.y_fit_, units
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Factors are computed again: a pickle is not n² numbers."""
        return {k: v for k, v in super().__getstate__().items() if k not in ("_systems", "_flat")}


def _by_penalty(penalties: Floats) -> list[tuple[float, Ints]]:
    """Every penalty with its targets."""
    return [(float(p), np.flatnonzero(penalties == p)) for p in np.unique(penalties)]


def _system(rows: KernelRidgeTable, penalty: float) -> RidgeSystem:
    """A Cholesky factor; all eigenvalues where K + α W⁻¹ is singular or not positive."""
    factor = factorize(rows.gram, penalty, rows.w) if penalty > 0.0 else None
    return decompose(rows.gram, rows.w) if factor is None else factor


@declare_parameters
class KernelRidge(KernelRidgeBase):
    """Kernel ridge regression: least squares in the feature space of a kernel.

        min over f of Σ w (y − f(x))² + α ‖f‖²,      f = Σⱼ aⱼ κ(xⱼ, ·)

    Parameters
    ----------
    alpha : float or array of shape (k,), default=1
        Weight α of the penalty, or one for each target; 0 is the limit as it vanishes.
    kernel : Kernel, callable or str, default="linear"
        A kernel of :mod:`separatrix.kernels`, one of scikit-learn's names ("rbf", "laplacian",
        "poly", "cosine", "chi2", …), "precomputed", or a function of two rows.
    gamma : float or None, default=None
        γ of a kernel given by name; None is 1/d, and 1 of "chi2".
    degree : float, default=3
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels given by name.
    kernel_params : mapping or None, default=None
        Further arguments of a function.
    standardize : bool, default=False

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Coefficients a.
    X_fit_ : ndarray, sparse array or list
        The training rows, standardized with ``standardize``; their numbers if the kernel is
        precomputed.
    y_fit_, row_weight_ : ndarray of shape (n_samples, n_targets) and (n_samples,)
        Their targets and weights.
    penalties_ : ndarray of shape (n_targets,)
        α of every target.
    kernel_ : Kernel
        The kernel used.
    certificate_ : Certificate
        Duality gap; where the kernel is not positive semi-definite or α is zero, the residual of
        the normal equations.

    See Also
    --------
    KernelRidgeCV : Chooses α on rows left out, from one decomposition.
    GaussianProcessRegressor : The same mean, with standard deviations and learned kernels.
    SVR : An error within ε costs nothing.

    References
    ----------
    G. Wahba, Spline models for observational data, 1990.

    Examples
    --------
    >>> import numpy as np, separatrix as sx
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> model = sx.KernelRidge(alpha=0.01, kernel=sx.Laplace(2.0)).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(2)
    array([0.99])
    >>> float(np.abs(model.leave_one_out() - np.sin(X[:, 0]))[1:-1].max().round(2))
    0.03
    """

    alpha: Any = 1
    _: KW_ONLY
    kernel: Any = "linear"
    gamma: Any = None
    degree: float = 3
    coef0: float = 1
    kernel_params: Any = None
    standardize: bool = False

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` (rows, Rows, a Gram matrix or objects) and numbers ``y``."""
        rows = self._table(X, y, sample_weight)
        penalties = _penalties(self.alpha, rows.y.shape[1])
        coef, systems = np.empty(rows.y.shape), []
        for alpha, targets in _by_penalty(penalties):
            system = _system(rows, alpha)
            coef[:, targets] = system.coefs(rows.y[:, targets], np.array([alpha]))[0][0]
            systems.append((alpha, targets, system))
        self._systems = systems, rows.y, rows.units
        self._accept(rows, coef, penalties)
        return self


def _penalties(alpha: Any, targets: int) -> Floats:
    """One penalty per target."""
    given = np.atleast_1d(np.asarray(alpha, dtype=float))
    remedy = "Give alpha as one number ≥ 0, or one for each target."
    if given.ndim > 1 or not (np.isfinite(given) & (given >= 0.0)).all():
        raise InputError(f"alpha={alpha!r} is not a penalty.", remedy=remedy)
    if len(given) not in (1, targets):
        raise InputError(f"There are {len(given)} penalties for {targets} targets.", remedy=remedy)
    return np.broadcast_to(given, (targets,)).copy()


@declare_parameters
class KernelRidgeCV(KernelRidgeBase):
    """Kernel ridge regression with the penalty that predicts rows left out best.

        min over f of Σ w (y − f(x))² + α ‖f‖²,      α of the least error on rows left out

    One decomposition of the Gram matrix serves every penalty, and every row or fold left out.

    Parameters
    ----------
    alphas : array or None, default=None
        Penalties; None places 30 from the largest eigenvalue of the Gram matrix to its rounding.
    kernel : Kernel, callable or str, default="linear"
        As in :class:`KernelRidge`.
    gamma : float or None, default=None
    degree : float, default=3
    coef0 : float, default=1
    kernel_params : mapping or None, default=None
        Further arguments of a function.
    standardize : bool, default=False
    cv : int, splitter, iterable of (train, test) or None, default=None
        None leaves out one row at a time, with its copies; folds otherwise, which must partition
        the rows.

    Attributes
    ----------
    alpha_ : float
        The penalty chosen.
    alphas_ : ndarray of shape (m,)
        All of them.
    mse_path_ : ndarray of shape (m,)
        Mean squared error on rows left out at each.
    degrees_of_freedom_ : ndarray of shape (m,)
        Effective degrees of freedom at each.
    dual_coef_, X_fit_, y_fit_, row_weight_, penalties_, kernel_, certificate_ : object
        As in :class:`KernelRidge`.

    See Also
    --------
    KernelRidge : One penalty.
    RidgeCV : The linear model.

    Examples
    --------
    >>> import numpy as np, separatrix as sx
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(40)
    >>> model = sx.KernelRidgeCV(kernel="rbf").fit(X, y)
    >>> bool(model.mse_path_.min() < 0.02), model.alphas_[model.mse_path_.argmin()] == model.alpha_
    (True, np.True_)
    """

    alphas: Any = None
    _: KW_ONLY
    kernel: Any = "linear"
    gamma: Any = None
    degree: float = 3
    coef0: float = 1
    kernel_params: Any = None
    standardize: bool = False
    cv: CV = None

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose a penalty and fit, to ``X`` and numbers ``y``."""
        rows = self._table(X, y, sample_weight)
        spectrum = decompose(rows.gram, rows.w)
        alphas = spectrum.grid() if self.alphas is None else np.ravel(_penalties_of(self.alphas))
        if self.cv is None:
            if np.count_nonzero(rows.w) < 2:
                raise InputError("There is 1 sample: no row is left when it is left out.")
            left = spectrum.leave_one_out(rows.y, alphas, rows.units)
        else:
            left = spectrum.held_out(rows.y, alphas, self._folds(rows))
        some = rows.w > 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            squares = ((left[:, some] - rows.y[some]) ** 2).mean(axis=2)
            errors = squares @ (rows.w[some] / rows.w.sum())
        self.mse_path_ = np.where(np.isfinite(errors), errors, np.inf)
        self.alphas_, best = alphas, int(self.mse_path_.argmin())
        self.alpha_ = float(alphas[best])
        self.degrees_of_freedom_ = spectrum.degrees_of_freedom(alphas)
        coef = spectrum.coefs(rows.y, alphas[best : best + 1])[0][0]
        penalties = np.full(rows.y.shape[1], self.alpha_)
        everything = np.arange(rows.y.shape[1])
        self._systems = [(self.alpha_, everything, spectrum)], rows.y, rows.units
        self._accept(rows, coef, penalties)
        return self

    def _folds(self, rows: KernelRidgeTable) -> list[Ints]:
        """The rows of every fold, among all rows."""
        some = np.flatnonzero(rows.w > 0.0)
        x = self.X_fit_
        folds = folds_of(
            self.cv, len(rows.w), rows.y[:, 0], rows=some,
            copied=lambda: None if rows.units is None else copies_of(x[some], rows.y[some, 0]),
        )  # fmt: skip
        if folds.labels is None:
            raise InputError(
                "The folds of cv do not partition the rows.",
                remedy="Give folds that test every row once, or cv=None.",
            )
        return [some[test] for _, test in folds.pairs]


def _penalties_of(alphas: Any) -> Floats:
    given = np.atleast_1d(np.asarray(alphas, dtype=float))
    if given.ndim > 1 or not len(given) or not (np.isfinite(given) & (given >= 0.0)).all():
        raise InputError(f"alphas={alphas!r} are not penalties.", remedy="Give numbers ≥ 0.")
    return given
