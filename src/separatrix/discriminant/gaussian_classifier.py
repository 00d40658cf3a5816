"""What Gaussian class models share: class moments in, probabilities and class densities out."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.discriminant.class_covariances import (
    CovarianceShrinkage,
    GaussianFit,
    GaussianProblem,
    fit_gaussians,
)
from separatrix.estimators.class_labels import ClassLabels
from separatrix.geometry.class_scores import ClassScores, Postprocess, log_softmax, softmax
from separatrix.geometry.normal import MultivariateNormal
from separatrix.geometry.quadric import Quadric, real_roots
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.rows import ArrayRows, Rows
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.class_preparation import prepare_classes

#: The covariance structures, and how much of the within-class scatter each of them needs.
COVARIANCES = {
    "full": "full",
    "shared": "pooled",
    "diagonal": "diagonal",
    "shared_diagonal": "diagonal",
    "spherical": "diagonal",
    "shared_spherical": "diagonal",
}


@dataclass(frozen=True)
class GaussianOptions:
    """Covariance structure, shrinkage and priors of a Gaussian class model."""

    covariance: str
    shrinkage: CovarianceShrinkage
    priors: Any = None


class GaussianClassifier(ClassifierMixin, ClassLabels):
    """Fits Gaussian classes from class moments; probabilities by Bayes' rule."""

    class_moments_: ClassMoments
    scores_: ClassScores
    certificate_: Certificate
    encoding_: Encoding
    means_: Floats
    covariance_: Floats
    priors_: Floats

    @abstractmethod
    def _options(self) -> GaussianOptions:
        """Covariance structure, shrinkage and priors by the parameters."""

    # -- fitting -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        structure = COVARIANCES[self._options().covariance]
        if isinstance(X, Rows):
            moments, encoding = self._table_moments(
                self._class_rows(X, y, sample_weight), structure
            )
        else:
            rows = self._coded_rows(X, y, sample_weight)
            moments, encoding = self._array_moments(rows, structure), identity(rows.schema)
        self._fit_moments(moments, encoding)
        return self

    def _table_moments(self, rows: Rows, structure: str) -> tuple[ClassMoments, Encoding]:
        """Class moments of a table; sets ``classes_``."""
        prepared = prepare_classes(rows)
        parts = [prepared.of(term) for term in self._class_terms(rows, prepared.targets)]
        return ClassMoments.from_moments(structure, parts), prepared.encoding

    def _array_moments(self, rows: ArrayRows, structure: str) -> ClassMoments:
        """One pass over the rows; values that are not finite show in the sums."""
        empty = ClassMoments.empty(structure, len(self.classes_), rows.block.x.shape[1])
        try:
            return rows.reduce(empty)
        except InputError:
            self._refuse_missing(rows)
            raise

    def _fit_moments(self, moments: ClassMoments, encoding: Encoding) -> None:
        options = self._options()
        self.class_moments_, self.encoding_ = moments, encoding
        self.priors_ = class_priors(options.priors, moments.weight)
        with np.errstate(divide="ignore"):
            log_priors = np.log(self.priors_)
        problem = GaussianProblem(
            moments,
            options.covariance,
            options.shrinkage,
            log_priors,
            self.classes_.tolist(),
            encoding.names,
        )
        fit = fit_gaussians(problem)
        self.means_ = moments.mean.copy()
        self.covariance_, self.scores_ = fit.covariance, fit.scores
        self.certificate_ = certify(options, fit)

    # -- predictions ---------------------------------------------------------------------------

    def _scores(self, X: Any, postprocess: Postprocess = None) -> Floats:
        check_is_fitted(self)
        return self.scores_.score(self._design(X), postprocess)

    def decision_function(self, X: Any) -> Floats:
        """ln P(k) + ln p(x | k) up to a number common to all classes; of two, the log odds."""
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    def predict_proba(self, X: Any) -> Floats:
        """P(k | x) for every row and class."""
        return self._scores(X, softmax)

    def predict_log_proba(self, X: Any) -> Floats:
        """ln P(k | x), exact also where the probability underflows."""
        return self._scores(X, log_softmax)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    # -- the fitted model ----------------------------------------------------------------------

    @property
    def W_(self) -> Floats:
        """W of the scores xᵀWx + w·x + w₀ (K x d x d); zero where classes share a covariance."""
        return self.scores_.coefficients()[0]

    @property
    def w_(self) -> Floats:
        """Coefficients w of the scores xᵀWx + w·x + w₀ (K x d)."""
        return self.scores_.coefficients()[1]

    @property
    def w0_(self) -> Floats:
        """Constants w₀ of the scores xᵀWx + w·x + w₀ (K)."""
        return self.scores_.coefficients()[2]

    @property
    def n_parameters_(self) -> int:
        """Number of parameters estimated: means, covariances, and priors unless given."""
        k, d = self.means_.shape
        options = self._options()
        n_priors = k - 1 if options.priors is None else 0
        return int(k * d + covariance_parameters(options.covariance, k, d) + n_priors)

    @property
    def normals_(self) -> tuple[MultivariateNormal, ...]:
        """The class densities, in the order of ``classes_``."""
        shared = self._options().covariance.startswith("shared")
        each = [self.covariance_] * len(self.classes_) if shared else list(self.covariance_)
        return tuple(
            MultivariateNormal(mean, np.diag(c) if c.ndim == 1 else c, self.encoding_.names)
            for mean, c in zip(self.means_, each, strict=True)
        )

    def boundary(self, first: Any, second: Any) -> Quadric:
        """Where two classes, by label, are equally probable; positive on the side of the second."""
        at = {label: i for i, label in enumerate(self.classes_.tolist())}
        if first not in at or second not in at:
            raise InputError(
                f"{first!r} and {second!r} are not both among the classes {list(at)[:12]}."
            )
        a, b = at[first], at[second]
        quadratic, linear, constant = self.scores_.coefficients()
        return Quadric(
            quadratic[b] - quadratic[a], linear[b] - linear[a], float(constant[b] - constant[a])
        )

    @property
    def thresholds_(self) -> Floats:
        """Values of a single column at which the most probable class changes, in order.

        Between two classes one value if their variances agree, else two (or none, if one class is
        more probable everywhere).
        """
        check_is_fitted(self)
        if self.means_.shape[1] != 1:
            raise InputError(
                f"Thresholds are for one column, and there are {self.means_.shape[1]}.",
                remedy="Use boundary(first, second) for the surface between two classes.",
            )
        return _thresholds(self.scores_, self.class_moments_)


class IncrementalGaussianClassifier(GaussianClassifier):
    """Gaussian class models with ``partial_fit``: class moments of portions add up."""

    _checks_sums = True

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows given before; ``classes`` lists all possible labels."""
        structure = COVARIANCES[self._options().covariance]
        first = not hasattr(self, "class_moments_")
        before = None if first else self.classes_
        known = self._known_classes(X, classes)
        rows = self._coded_rows(X, y, sample_weight, known=known, reset=first)
        moments = self._array_moments(rows, structure)
        if before is not None:
            at = np.searchsorted(self.classes_, before)
            moments = self.class_moments_.expand_classes(len(self.classes_), at) + moments
        self._fit_moments(moments, identity(rows.schema))
        return self


def covariance_parameters(kind: str, k: int, d: int) -> int:
    """Number of free parameters in the covariances of ``k`` classes over ``d`` columns."""
    one = {"full": d * (d + 1) // 2, "diagonal": d, "spherical": 1}
    one["shared"] = one["full"]
    return one[kind.removeprefix("shared_")] * (1 if kind.startswith("shared") else k)


def class_priors(given: Any, weight: Floats) -> Floats:
    """Prior probabilities: as given and checked, uniform, or the class proportions (None)."""
    if given is None:
        return np.asarray(weight / weight.sum())
    if isinstance(given, str) and given == "uniform":
        return np.full(len(weight), 1.0 / len(weight))
    priors = np.asarray(given, dtype=float)
    if priors.shape != weight.shape:
        raise InputError(f"priors has shape {priors.shape}, and there are {len(weight)} classes.")
    if not (priors >= 0).all() or abs(priors.sum() - 1.0) > 1e-6:
        raise InputError(
            f"priors must be probabilities that add up to 1, and {priors.tolist()} do not."
        )
    return np.asarray(priors / priors.sum())


def _thresholds(scores: ClassScores, m: ClassMoments) -> Floats:
    """Crossings of pairs of scores at which no third class is above both.

    Computed in the standardized column, so that a distant origin costs no digits.
    """
    deviation = float(np.sqrt(m.within + m.between).reshape(-1)[0])
    quadratic, linear, constant = scores.coefficients(m.grand_mean)
    a = quadratic[:, 0, 0] * deviation**2
    b = linear[:, 0] * deviation
    finite = np.flatnonzero(np.isfinite(constant))
    crossings: list[float] = []
    for i, j in combinations(finite, 2):
        t = real_roots(*(float(values[j] - values[i]) for values in (a, b, constant)))
        all_scores = np.outer(t**2, a[finite]) + np.outer(t, b[finite]) + constant[finite]
        best = all_scores.max(axis=1, initial=-np.inf)
        own = a[i] * t**2 + b[i] * t + constant[i]
        crossings += t[own >= best - 1e-9 * (1.0 + np.abs(best))].tolist()
    return m.grand_mean + deviation * np.unique(crossings)


def certify(options: GaussianOptions, fit: GaussianFit) -> Certificate:
    """Closed form: what can fail is the whitening of the covariances, AᵀΣA = I."""
    case = options.covariance.replace("_", ", ")
    if options.shrinkage.is_zero and not fit.degenerate:
        claim = f"Gaussian classes ({case} covariance): the maximum likelihood estimate"
    else:
        claim = f"Gaussian classes ({case} covariance) in closed form"
    notes = []
    if fit.degenerate:
        notes.append(
            "In some direction no class varies: classes that differ there are separated by it, "
            "with a variance of rounding size."
        )
    if not options.shrinkage.is_zero:
        notes.append("Covariances are shrunk: the likelihood is below its maximum by intention.")
    return Certificate(
        claim,
        kkt=fit.error,
        tolerance=1e-4,
        condition=fit.condition,
        rank=fit.rank,
        digits=float(max(0.0, -np.log10(np.finfo(float).eps * fit.condition))),
        statistic="class moments",
        notes=tuple(notes),
        promised=() if fit.degenerate else ("kkt",),
    )
