"""Radial basis networks: Gaussian bumps at centers by K-means, and a linear model on top.

    φⱼ(x) = exp(−‖x − cⱼ‖²/2h²),      f(x) = a + Σⱼ bⱼ φⱼ(x)

The centers are those of K-means of all training rows; h is a multiple of the typical distance from
a center to its nearest other one. Numbers have ridge regression on top, whose leave-one-out error
in closed form chooses the penalty and the width; classes a Bayesian logistic model, whose evidence
does. Centers are few, so that many rows take no more than products with them.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, NDArray
from separatrix.catalogue import DECLARATIONS
from separatrix.estimators.base import RowsEstimator, reads_tables, rows_or_items
from separatrix.estimators.class_labels import coded_rows
from separatrix.estimators.radial_centers import neighbor_distance, place_centers
from separatrix.formula import nodes
from separatrix.kernels import Gaussian, KernelExpansion
from separatrix.messages import InputError
from separatrix.mixins import ClassifierMixin, RegressorMixin
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.statistics.moments import Standardizer
from separatrix.threads import on_one_blas_thread

#: Widths that are compared, as multiples of the typical distance between neighboring centers.
WIDTHS = (0.5, 1.0, 2.0, 4.0, 8.0)


@declare_parameters
class RadialBasisNetwork(RowsEstimator):
    """Gaussian functions of the distances to centers, and a linear model of them."""

    _sparse_ok = False
    centers_: Floats = field(init=False)
    width_: float = field(init=False)
    readout_: Any = field(init=False)
    standardizer_: Standardizer | None = field(init=False)
    certificate_: Certificate = field(init=False)

    n_centers: int = 30
    _: KW_ONLY
    width: float | None = None
    standardize: bool = True
    random_state: Any = 0

    def _place(self, x: Floats, w: Floats) -> Floats:
        """Choose the centers among rows of positive weight; the rows as they are compared."""
        if not (isinstance(self.n_centers, Integral) and self.n_centers >= 1):
            raise InputError(f"n_centers={self.n_centers!r} must be a whole number from 1 on.")
        if self.width is not None and not 0.0 < self.width < np.inf:
            raise InputError(f"width={self.width!r} must be a positive number, or None.")
        x = np.asarray(x, dtype=np.float64)
        self.standardizer_ = Standardizer.from_rows(x, w) if self.standardize else None
        z = x if self.standardizer_ is None else self.standardizer_.transform(x)
        self.centers_ = place_centers(z, w, self.n_centers, self.random_state)
        return np.asarray(z)

    def _widths(self) -> Floats:
        """The width that is given, or those to be compared."""
        if self.width is not None:
            return np.array([float(self.width)])
        if len(self.centers_) < 2:
            return np.ones(1)
        return neighbor_distance(self.centers_) * np.array(WIDTHS)

    def _expansion(self) -> KernelExpansion:
        """φ as functions of rows."""
        m = len(self.centers_)
        return KernelExpansion(Gaussian(self.width_), self.centers_, np.eye(m), np.zeros(m), m)

    def _fit_readout(self, z: Floats, y: Any, w: Floats) -> Self:
        """Fit the linear model at every width, and keep the best."""
        best = -np.inf
        scores = []
        for width in self._widths():
            self.width_ = float(width)
            model, score = self._fit_linear(self._expansion().scores(z), y, w)
            scores.append(score)
            if score > best or len(scores) == 1:
                best, chosen = score, (self.width_, model)
        self.width_, self.readout_ = chosen
        self.widths_, self.width_scores_ = self._widths(), np.array(scores)
        self.certificate_ = self.readout_.certificate_
        return self

    def _fit_linear(self, features: Floats, y: Any, w: Floats) -> tuple[Any, float]:
        raise NotImplementedError

    def _features(self, X: Any) -> Floats:
        """φ(x) of new rows."""
        check_is_fitted(self, "readout_")
        x = np.asarray(self._design(X))
        z = x if self.standardizer_ is None else self.standardizer_.transform(x)
        return np.asarray(self._expansion().scores(z))

    def formula(self) -> Any:
        """The linear model of the functions of distances to the centers."""
        z = nodes.standardize_rows(self.standardizer_, nodes.design_of(self))
        names = [f"center {j + 1}" for j in range(len(self.centers_))]
        return nodes.at_rows(nodes.kernel_sum(self._expansion(), z, names), self.readout_.formula())


@declare_parameters
class RadialBasisRegressor(RegressorMixin, RadialBasisNetwork):
    """Radial basis network: ridge regression on Gaussian functions of distances to centers.

        f(x) = a + Σⱼ bⱼ exp(−‖x − cⱼ‖²/2h²),      min over a, b of Σ w (y − f(x))² + α ‖b‖²

    Parameters
    ----------
    n_centers : int, default=30
        Centers cⱼ, by K-means of all training rows; fewer where there are fewer distinct rows.
    width : float or None, default=None
        h; None compares multiples of the median distance between neighboring centers, by the error
        of rows left out.
    standardize : bool, default=True
    random_state : int, RandomState instance or None, default=0
        Seed of K-means.

    Attributes
    ----------
    centers_ : ndarray of shape (m, n_features)
        cⱼ, standardized if ``standardize``.
    width_ : float
        h.
    alpha_ : float or ndarray of shape (n_targets,)
        α of the least error on rows left out one by one, with their copies, in closed form.
    widths_, width_scores_ : ndarray
        Widths compared, and minus the mean squared error of rows left out.
    readout_ : RidgeCV
        The linear model of the functions, which has the coefficients.
    standardizer_ : Standardizer or None
    certificate_ : Certificate
        That of the ridge regression, given centers and width.

    See Also
    --------
    RadialBasisClassifier : The same for classes.
    KernelRidge : A function at every training row.
    GaussianProcessRegressor : Widths by the evidence, and standard deviations.

    References
    ----------
    D. S. Broomhead and D. Lowe, Multivariable functional interpolation and adaptive networks, 1988.

    Examples
    --------
    >>> import numpy as np, separatrix as sx
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = sx.RadialBasisRegressor(10).fit(X, np.sin(X[:, 0]))
    >>> model.centers_.shape, model.predict([[1.5]]).round(2)
    ((10, 1), array([1.]))
    """

    _multi_output = True

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and targets ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        x, target, w = rows_or_items(self, X, y, sample_weight)
        some = np.flatnonzero(w > 0.0)
        flat = target.shape[1] == 1 and np.asarray(y).ndim != 2
        targets = target[some, 0] if flat else target[some]
        return self._fit_readout(self._place(x[some], w[some]), targets, w[some])

    def _fit_linear(self, features: Floats, y: Any, w: Floats) -> tuple[Any, float]:
        model = DECLARATIONS["RidgeCV"].load()(alphas=None)
        model.fit(features, y, sample_weight=w)
        return model, float(np.mean(model.best_score_))

    @property
    def alpha_(self) -> Any:
        """The penalty of least error on rows left out."""
        check_is_fitted(self, "readout_")
        return self.readout_.alpha_

    @on_one_blas_thread
    def predict(self, X: Any) -> Floats:
        """f(x) of every row."""
        features = self._features(X)
        return np.asarray(self.readout_.predict(features))


@declare_parameters
class RadialBasisClassifier(ClassifierMixin, RadialBasisNetwork):
    """Radial basis network: a logistic model of Gaussian functions of distances to centers.

        P(k | x) = softmax over k of aₖ + Σⱼ bₖⱼ exp(−‖x − cⱼ‖²/2h²)

    The prior scale of the coefficients and h maximize the evidence, and probabilities are averages
    over the posterior (:class:`BayesianLogisticRegression`).

    Parameters
    ----------
    n_centers : int, default=30
        Centers cⱼ, by K-means of all training rows; fewer where there are fewer distinct rows.
    width : float or None, default=None
        h; None compares multiples of the median distance between neighboring centers, by evidence.
    standardize : bool, default=True
    random_state : int, RandomState instance or None, default=0
        Seed of K-means.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    centers_ : ndarray of shape (m, n_features)
        cⱼ, standardized if ``standardize``.
    width_ : float
        h.
    widths_, width_scores_ : ndarray
        Widths compared, and their log evidence.
    readout_ : BayesianLogisticRegression
        The linear model of the functions, which has the coefficients.
    standardizer_ : Standardizer or None
    certificate_ : Certificate
        That of the logistic model, given centers and width.

    See Also
    --------
    RadialBasisRegressor : The same for numbers.
    KernelLogisticRegression : A function at every training row.
    ParzenClassifier : Densities with a function at every training row.

    References
    ----------
    D. S. Broomhead and D. Lowe, Multivariable functional interpolation and adaptive networks, 1988.

    Examples
    --------
    >>> import numpy as np, separatrix as sx
    >>> angle = np.linspace(0, 2 * np.pi, 40)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X, y = np.vstack([ring, 3 * ring]), np.repeat(["in", "out"], 40)
    >>> model = sx.RadialBasisClassifier(12).fit(X, y)
    >>> model.predict([[0.0, 1.1], [0.0, -2.9]]).tolist()
    ['in', 'out']
    """

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        coded = coded_rows(self, X, y, sample_weight)
        self.encoding_ = coded.encoding
        labels = self.classes_[coded.codes]
        return self._fit_readout(self._place(coded.x, coded.w), labels, coded.w)

    def _fit_linear(self, features: Floats, y: Any, w: Floats) -> tuple[Any, float]:
        model = DECLARATIONS["BayesianLogisticRegression"].load()()
        model.fit(features, y, sample_weight=w)
        return model, float(model.log_evidence_)

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """Scores of the classes; of two, that of the second."""
        features = self._features(X)
        return np.asarray(self.readout_.decision_function(features))

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Floats:
        """P(k | x) for every row and class."""
        features = self._features(X)
        return np.asarray(self.readout_.predict_proba(features))

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row."""
        features = self._features(X)
        return np.asarray(self.readout_.predict(features))
