"""Regression of the logarithm of a positive target, and back without bias.

    log(y + offset) = f(x) + ε,      ŷ(x) = s exp(f(x)) − offset

The exponential of a mean is below the mean of exponentials. The smearing factor s makes up for it:
with s = Σ w (y + offset) / Σ w exp(f(x)), the predictions of the training rows have the mean of
their targets (Duan's smearing estimate, each row weighted by its prediction). Where the model is
tuned on folds, the rows that determine s are those that it was not fitted to: a flexible model
passes so near its own rows that they say nothing of ε.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats
from separatrix.estimators import wrapped
from separatrix.formula import nodes
from separatrix.messages import InputError
from separatrix.mixins import RegressorMixin
from separatrix.optimize.convex import Certificate
from separatrix.optimize.likelihoods import LARGEST_EXPONENT
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import unit_weights
from separatrix.selection.tuning import Tuning, TuningData


@declare_parameters
class LogTargetRegressor(RegressorMixin, wrapped.Wrapper):
    """Any regression model, fitted to the logarithm of a positive target.

        log(y + offset) = f(x) + ε,      ŷ(x) = s exp(f(x)) − offset

    Prices, incomes, durations and counts vary by percentages rather than by amounts: their
    logarithms have errors of equal size, and effects that multiply become sums. The smearing factor
    s = Σ w (y + offset) / Σ w exp(f(x)) makes the predictions unbiased: those of the training rows
    have the mean of their targets.

    Parameters
    ----------
    estimator : regressor
        A model of one number.
    offset : float, default=0.0
        Added to the target, where zeros occur (1.0 for counts).
    smearing : bool, default=True
        Whether predictions are of the mean. Without it they are exp(f(x)) − offset, about the
        median.

    Attributes
    ----------
    estimator_ : regressor
        The model of the logarithm.
    smearing_factor_ : float
        s; 1 without smearing.
    n_features_in_ : int
        Number of columns.
    certificate_ : Certificate
        That of the model of the logarithm.

    See Also
    --------
    HuberRegressor : Least squares that large errors influence less.
    PolynomialRegression : Curves in the columns.

    References
    ----------
    N. Duan, Smearing estimate: a nonparametric retransformation method, JASA 78, 1983.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 3, (500, 1))
    >>> y = np.exp(1 + x[:, 0] + 0.5 * rng.standard_normal(500))
    >>> model = sx.LogTargetRegressor(sx.LinearRegression()).fit(x, y)
    >>> model.estimator_.coef_.round(1), round(model.smearing_factor_, 2)
    (array([1.]), 1.13)
    >>> bool(np.isclose(model.predict(x).mean(), y.mean()))
    True
    """

    estimator_: Any = field(init=False)
    certificate_: Certificate = field(init=False)

    estimator: Any
    _: KW_ONLY
    offset: float = 0.0
    smearing: bool = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        rows = wrapped.numbered_rows(self, _in_double(X), y, sample_weight)
        model = wrapped.fit_to_numbers(self.estimator, self._in_logarithms(rows))
        fitted = np.ravel(model.predict(rows.x))
        w = unit_weights(rows.w, len(rows.y))
        return self._accept(model, smearing_factor(rows.y + self.offset, fitted, w))

    def _in_logarithms(self, rows: wrapped.LabeledRows) -> wrapped.LabeledRows:
        """The same rows with log(y + offset) as their target."""
        z = self.logarithm(rows.y)
        x = rows.x
        if isinstance(x, InMemory):
            x = x.with_hashes()
            x.block = replace(x.block, y=z[:, None])
        return wrapped.LabeledRows(x, z, rows.w)

    def logarithm(self, y: Floats) -> Floats:
        """log(y + offset); refuses a target that has none."""
        shifted = np.asarray(y, dtype=float) + float(self.offset)
        if not (shifted > 0.0).all():
            raise InputError(
                f"The target has no logarithm: it goes down to {float(np.min(y)):.6g}"
                + (f", and offset={self.offset:g}." if self.offset else "."),
                remedy="Give an offset (1.0 for counts), or fit the target itself.",
            )
        return np.log(shifted)

    def _accept(self, model: Any, factor: float) -> Self:
        """Expose the columns of the fitted model."""
        self.estimator_ = model
        self.smearing_factor_ = factor if self.smearing else 1.0
        for name in ("n_features_in_", "feature_names_in_", "encoding_"):
            self.__dict__.pop(name, None)
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        self.certificate_ = wrapped.joint_certificate(
            "Model of the logarithm of the target", [model]
        )
        return self

    def predict(self, X: Any) -> Floats:
        """s exp(f(x)) − offset."""
        check_is_fitted(self)
        return self.back(np.ravel(self.estimator_.predict(_in_double(X))), self.smearing_factor_)

    def back(self, z: Floats, factor: Any) -> Floats:
        """Numbers in units of the target from their logarithms."""
        return np.asarray(factor * np.exp(np.minimum(z, LARGEST_EXPONENT)) - float(self.offset))

    def formula(self) -> nodes.NumberFormula:
        """s exp(f(x)) − offset."""
        inner = nodes.number_formula_of(self.estimator_)
        mean = nodes.Affine(
            nodes.Elementwise(nodes.WeightedSum((inner.mean,), np.ones(1)), "bounded_exp"),
            np.full((1, 1), self.smearing_factor_),
            np.full(1, -float(self.offset)),
        )
        return nodes.regression(mean, self, flat=True, notes=inner.notes)

    # -- tuning ------------------------------------------------------------------------------------

    def tune(self, data: TuningData) -> LogTargetTuning:
        """Tune the model on the logarithms; the rows of other folds determine the factor of each.

        What is minimized is the squared error of logarithms.
        """
        logarithms = copy(data)
        object.__setattr__(logarithms, "y", self.logarithm(data.y))
        inner: Tuning = self.estimator.tune(logarithms)
        rows, z = inner.rows, np.ravel(inner.predictions)
        y, w, fold = data.y[rows] + self.offset, data.w[rows], data.fold[rows]
        by_fold = np.ones(len(data.folds))
        predictions = np.empty(len(rows))
        for number in range(len(data.folds)):
            inside = fold == number
            if self.smearing:
                by_fold[number] = smearing_factor(y[~inside], z[~inside], w[~inside])
            predictions[inside] = self.back(z[inside], by_fold[number])
        return LogTargetTuning(
            inner.parameters,
            inner.grid,
            inner.losses,
            inner.by_fold,
            rows,
            predictions,
            "values",
            inner.note,
            inner=inner,
            factor=smearing_factor(y, z, w),
            factors=by_fold,
        )

    def fit_tuned(self, rows: Any, tuning: LogTargetTuning) -> Self:
        """Fit to all rows with the parameters and the factor that were found out of fold."""
        read = wrapped.numbered_rows(self, rows, None, None)
        model = self.estimator.fit_tuned(self._in_logarithms(read).x, tuning.inner)
        return self._accept(model, tuning.factor)


@dataclass(frozen=True)
class LogTargetTuning(Tuning):
    """The search of the model of logarithms, and the factors that its predictions need."""

    inner: Any = None
    factor: float = 1.0
    factors: Floats | None = None

    def without(self, fold: int) -> LogTargetTuning:
        """The search with what it found without a fold."""
        assert self.factors is not None
        tuning = super().without(fold)
        assert isinstance(tuning, LogTargetTuning)
        return replace(tuning, inner=self.inner.without(fold), factor=float(self.factors[fold]))

    @property
    def parameters_by_fold(self) -> Mapping[str, tuple[Any, ...]]:  # type: ignore[override]
        """Those of the model of logarithms."""
        found: Mapping[str, tuple[Any, ...]] = self.inner.parameters_by_fold
        return found


def _in_double(X: Any) -> Any:
    """Numbers in double precision: in single precision exp would lose the digits of large ones."""
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X


def smearing_factor(y: Floats, z: Floats, w: Floats) -> float:
    """Σ w y / Σ w exp(z), by which predictions exp(z) have the mean of y; 1 of no rows."""
    if not w.any():
        return 1.0
    highest = float(z.max())
    sums = float(w @ np.exp(z - highest))
    return float(w @ y) / sums * float(np.exp(-highest)) if sums > 0.0 else 1.0
