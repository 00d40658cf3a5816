"""What Gaussian class models share: class moments in, probabilities and shapes out."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.discriminant.class_covariances import Fitted, Mix, Names, fit_classes
from separatrix.estimators.class_labels import ClassLabels
from separatrix.geometry.class_scores import ClassScores, Then, log_softmax, softmax
from separatrix.geometry.normal import MultivariateNormal
from separatrix.geometry.quadric import Quadric, real_roots
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.rows import Rows
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.class_preparation import prepare_classes

#: What is estimated of the spread within classes, by the name of the case.
SPREADS = {
    "full": "full",
    "shared": "pooled",
    "diagonal": "diagonal",
    "shared_diagonal": "diagonal",
    "spherical": "diagonal",
    "shared_spherical": "diagonal",
}


@dataclass(frozen=True)
class Settings:
    """A Gaussian class model without its data."""

    covariance: str
    mix: Mix
    priors: Any = None


class GaussianClassifier(ClassifierMixin, ClassLabels):
    """Fits from class moments; probabilities by Bayes' rule."""

    class_moments_: ClassMoments
    scores_: ClassScores
    certificate_: Certificate
    encoding_: Encoding
    means_: Floats
    covariance_: Floats
    priors_: Floats

    @abstractmethod
    def _settings(self) -> Settings:
        """The case, the mixture and the priors that the parameters ask for."""

    # -- learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        spread = SPREADS[self._settings().covariance]
        if isinstance(X, Rows):
            moments, encoding = self._from_table(X, y, sample_weight, spread)
        else:
            rows = self._coded_rows(X, y, sample_weight)
            moments, encoding = self._moments(rows, spread), identity(rows.schema)
        self._learn(moments, encoding)
        return self

    def _from_table(
        self, rows: Rows, y: Any, sample_weight: Any, spread: str
    ) -> tuple[ClassMoments, Encoding]:
        rows = self._class_rows(rows, y, sample_weight)
        prepared = prepare_classes(rows)
        terms = self._class_terms(rows, prepared.targets)
        parts = [prepared.of(term) for term in terms]
        return ClassMoments.from_moments(spread, parts), prepared.encoding

    def _moments(self, rows: ArrayRows, spread: str) -> ClassMoments:
        """One pass over the rows, in which numbers that are not finite show."""
        empty = ClassMoments.empty(spread, len(self.classes_), rows.block.x.shape[1])
        try:
            return rows.reduce(empty)
        except InputError:
            self._refuse_missing(rows)
            raise

    def _learn(self, moments: ClassMoments, encoding: Encoding) -> None:
        settings = self._settings()
        self.class_moments_, self.encoding_ = moments, encoding
        self.priors_ = class_priors(settings.priors, moments.weight)
        with np.errstate(divide="ignore"):
            log_priors = np.log(self.priors_)
        names = Names(self.classes_.tolist(), encoding.names)
        fitted = fit_classes(moments, settings.covariance, settings.mix, log_priors, names)
        self.means_ = moments.mean.copy()
        self.covariance_, self.scores_ = fitted.covariance, fitted.scores
        self.certificate_ = _certificate(settings, fitted)

    # -- answers -------------------------------------------------------------------------------

    def _scores(self, X: Any, then: Then = None) -> Floats:
        check_is_fitted(self)
        return self.scores_.score(self._design(X), then)

    def decision_function(self, X: Any) -> Floats:
        """ln P(k) + ln p(x | k) up to a number common to all classes; of two classes, the second's
        minus the first's, which is the log of their odds.
        """
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    def predict_proba(self, X: Any) -> Floats:
        """P(k | x) for every row and class."""
        return self._scores(X, softmax)

    def predict_log_proba(self, X: Any) -> Floats:
        """ln P(k | x), exact also where the probability is too small for a number."""
        return self._scores(X, log_softmax)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    # -- what was learned ----------------------------------------------------------------------

    @property
    def W_(self) -> Floats:
        """W of the scores xᵀWx + w·x + w₀ (K x d x d); zero where classes share a covariance."""
        return self.scores_.coefficients()[0]

    @property
    def w_(self) -> Floats:
        """w of the scores xᵀWx + w·x + w₀ (K x d)."""
        return self.scores_.coefficients()[1]

    @property
    def w0_(self) -> Floats:
        """w₀ of the scores xᵀWx + w·x + w₀ (K)."""
        return self.scores_.coefficients()[2]

    @property
    def n_parameters_(self) -> int:
        """Numbers estimated: means, covariances, and shares of the classes unless given."""
        k, d = self.means_.shape
        settings = self._settings()
        shares = k - 1 if settings.priors is None else 0
        return int(k * d + covariance_parameters(settings.covariance, k, d) + shares)

    @property
    def normals_(self) -> tuple[MultivariateNormal, ...]:
        """The class models as shapes, in the order of ``classes_``."""
        shared = self._settings().covariance.startswith("shared")
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
        """One column only: where the most probable class changes, in order.

        Between two classes one value where their variances agree, else two (or none, where one
        class is the more probable everywhere).
        """
        check_is_fitted(self)
        if self.means_.shape[1] != 1:
            raise InputError(
                f"Thresholds are for one column, and there are {self.means_.shape[1]}.",
                remedy="Use boundary(first, second) for the surface between two classes.",
            )
        return _thresholds(self.scores_, self.class_moments_)


class AdditiveGaussian(GaussianClassifier):
    """Gaussian class models that new rows can join: class moments add up."""

    _checks_sums = True

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows given before; ``classes`` lists what may come."""
        spread = SPREADS[self._settings().covariance]
        first = not hasattr(self, "class_moments_")
        if isinstance(X, Rows):
            raise InputError(
                "partial_fit takes numeric X and labels y.", remedy="Call fit for a table."
            )
        before = None if first else self.classes_
        rows = self._coded_rows(
            X, y, sample_weight, known=self._known_classes(classes), reset=first
        )
        moments = self._moments(rows, spread)
        if before is not None:
            at = np.searchsorted(self.classes_, before)
            moments = self.class_moments_.expand_classes(len(self.classes_), at) + moments
        self._learn(moments, identity(rows.schema))
        return self


def covariance_parameters(kind: str, k: int, d: int) -> int:
    """How many numbers the covariances of ``k`` classes over ``d`` columns have."""
    one = {"full": d * (d + 1) // 2, "diagonal": d, "spherical": 1}
    one["shared"] = one["full"]
    return one[kind.removeprefix("shared_")] * (1 if kind.startswith("shared") else k)


def class_priors(given: Any, weight: Floats) -> Floats:
    """The probabilities of the classes: as given and checked, or their shares of the rows."""
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

    Everything is measured from the mean of all rows in their deviation: a far origin costs nothing.
    """
    deviation = float(np.sqrt(m.within + m.between).reshape(-1)[0])
    quadratic, linear, constant = scores.coefficients(m.grand_mean)
    a = quadratic[:, 0, 0] * deviation**2
    b = linear[:, 0] * deviation
    known = np.flatnonzero(np.isfinite(constant))
    found: list[float] = []
    for i, j in combinations(known, 2):
        t = real_roots(*(float(values[j] - values[i]) for values in (a, b, constant)))
        all_scores = np.outer(t**2, a[known]) + np.outer(t, b[known]) + constant[known]
        best = all_scores.max(axis=1, initial=-np.inf)
        own = a[i] * t**2 + b[i] * t + constant[i]
        found += t[own >= best - 1e-9 * (1.0 + np.abs(best))].tolist()
    return m.grand_mean + deviation * np.unique(found)


def _certificate(settings: Settings, fitted: Fitted) -> Certificate:
    case = settings.covariance.replace("_", ", ")
    if settings.mix.plain and not fitted.flat:
        claim = f"Maximum likelihood: no other Gaussian classes ({case} covariance) fit better"
    else:
        claim = f"Gaussian classes ({case} covariance) in closed form"
    notes = []
    if fitted.flat:
        notes.append(
            "In some direction the rows of each class agree exactly: classes that differ there "
            "are told apart by it, with a spread of rounding size."
        )
    if not settings.mix.plain:
        notes.append("Covariances are shrunk: their likelihood is below the greatest by intention.")
    return Certificate(
        claim,
        kkt=fitted.error,
        tolerance=1e-4,
        condition=fitted.condition,
        rank=fitted.rank,
        digits=float(max(0.0, -np.log10(np.finfo(float).eps * fitted.condition))),
        statistic="class moments",
        notes=tuple(notes),
        promised=("kkt",),
    )
