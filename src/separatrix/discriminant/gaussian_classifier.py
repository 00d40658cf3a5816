"""What Gaussian class models share: class moments in, probabilities and class densities out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Matrix, NDArray
from separatrix.discriminant.covariances import (
    CovarianceShrinkage,
    GaussianFit,
    GaussianProblem,
    diagonal_moments,
    fit_diagonals,
    fit_matrices,
    fit_rows,
    is_wide,
    weighted_rows,
)
from separatrix.discriminant.leave_one_out import DiagonalFits, diagonal_fits
from separatrix.estimators import class_labels
from separatrix.estimators.base import RowsEstimator, number_type, reads_tables
from separatrix.formula import nodes
from separatrix.geometry.class_scores import ClassScores, Postprocess, log_softmax, softmax
from separatrix.geometry.hyperplane import Hyperplane, Quadric, real_roots
from separatrix.geometry.normal import MultivariateNormal
from separatrix.messages import InputError, warn
from separatrix.mixins import ClassifierMixin
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import ArrayRows, MappedStatistic, Rows
from separatrix.rows.schema import Block, Encoding, identity
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.class_preparation import prepare_classes
from separatrix.statistics.columns import column_extremes
from separatrix.statistics.moments import on_threads
from separatrix.threads import on_one_blas_thread

#: How the scores of each structure are found.
FITS = {"full": fit_matrices, "pooled": fit_matrices, "diagonal": fit_diagonals}


Statistics = tuple[ClassMoments, Encoding, Floats | None]


class GaussianClassifier(ClassifierMixin, RowsEstimator):
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

    _any_new_size = True
    #: The type of the numbers in attributes: that of the rows, as in scikit-learn.
    _number_type: Any = np.float64
    #: The rows, while fewer of them than columns are fitted to.
    _wide_block: Block | None = None

    def _structure(self) -> str:
        """How much of the scatter within classes is needed."""
        return COVARIANCES[self._options().covariance]

    # -- fitting -------------------------------------------------------------------------------

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._number_type = number_type(X)
        try:
            moments, encoding, given = self._statistics(X, y, sample_weight)
            self._require_rows(moments)
            self._fit_moments(moments, encoding, given)
        finally:
            self.__dict__.pop("_wide_block", None)
        return self

    def _statistics(self, X: Any, y: Any, sample_weight: Any) -> Statistics:
        """Class moments, the encoding of columns, and covariances that need more than moments."""
        structure = self._structure()
        if isinstance(X, Rows):
            rows = class_labels.class_rows(self, X, y, sample_weight)
            return *self._table_moments(rows, structure), None
        coded = class_labels.rows_with_codes(self, X, y, sample_weight)
        return self._rows_moments(coded, structure), identity(coded.schema), None

    def _require_rows(self, moments: ClassMoments) -> None:
        """Refuse to fit to too few rows of a class, where scikit-learn does."""

    def _table_moments(self, rows: Rows, structure: str) -> tuple[ClassMoments, Encoding]:
        """Class moments of a table; sets ``classes_``."""
        prepared = prepare_classes(rows)
        parts = [
            prepared.of(term) for term in class_labels.class_terms(self, rows, prepared.targets)
        ]
        return ClassMoments.from_moments(structure, parts), prepared.encoding

    def _rows_moments(self, rows: ArrayRows, structure: str) -> ClassMoments:
        """Class moments of all rows; of fewer rows than columns no products of columns."""
        if not (is_wide(rows.block) and self._fits_wide(structure)):
            return self._array_moments(rows, structure)
        self._wide_block = block = weighted_rows(rows.block)
        return self._checked_sums(
            rows, lambda: diagonal_moments(block, len(self.classes_)), lambda sums: sums
        )

    def _fits_wide(self, structure: str) -> bool:
        """Whether the rows themselves can stand for products of their columns."""
        options = self._options()
        return structure != "diagonal" and options.posterior is None and options.rank is None

    def _array_moments(self, rows: ArrayRows, structure: str) -> ClassMoments:
        """One pass over the rows; values that are not finite show in the sums."""
        empty = ClassMoments.empty(structure, len(self.classes_), rows.block.x.shape[1])

        def compute() -> ClassMoments:
            if not on_threads(rows.block.x):
                return rows.reduce(empty)
            empty.update(rows.block)  # chunks would each have sums of their own to be merged
            return empty

        return self._checked_sums(rows, compute, lambda sums: sums)

    def _fit_moments(
        self, moments: ClassMoments, encoding: Encoding, given: Floats | None = None
    ) -> None:
        """Fit to class moments; ``given`` as in :class:`GaussianProblem`."""
        options = self._options()
        self.class_moments_, self.encoding_ = moments, encoding
        priors = self._class_priors(moments.weight)
        with np.errstate(divide="ignore"):
            log_priors = np.log(priors)
        if options.posterior is not None:
            moments = options.posterior(moments)
        problem = GaussianProblem(
            moments,
            options.covariance,
            options.shrinkage,
            log_priors,
            self.classes_.tolist(),
            encoding.names,
            given,
            options.tol,
            self._added_variances(),
            options.rank,
        )
        block = self._wide_block
        if block is None:
            fit = FITS[COVARIANCES[options.covariance]](problem)
        else:
            fit = fit_rows(problem, block)
        max_named = 12  # columns that a warning names
        if fit.unused:
            names, several = ", ".join(map(repr, fit.unused[:max_named])), len(fit.unused) > 1
            names += ", …" * (len(fit.unused) > max_named)
            warn(
                "SEP020",
                f"rows of one class do not differ in column{'s' * several} {names}"
                f"{' or a combination of them' * several}, and classes do: that alone tells them "
                "apart, and this model leaves it out.",
            )
        self.scores_, self.certificate_ = fit.scores, certify(options, fit, problem.means.shape[1])
        self.priors_ = self._round(priors)
        self.means_ = self._round(moments.mean.copy())
        self.__dict__.pop("covariance_", None)
        if block is None:
            self.covariance_ = self._round(fit.covariance)

    def _added_variances(self) -> Floats | None:
        """What is added to the class variances of each column."""
        return None

    def _class_priors(self, weight: Floats) -> Floats:
        return class_labels.class_priors(self._options().priors, weight)

    def _round(self, values: Floats) -> Any:
        """In the type of the numbers of the rows that were fitted to."""
        return values.astype(self._number_type, copy=False)

    # -- predictions ---------------------------------------------------------------------------

    def _scores(self, X: Any, postprocess: Postprocess = None) -> Floats:
        check_is_fitted(self)
        return self._design_scores(self._design(X), postprocess)

    def _design_scores(self, x: Matrix, postprocess: Postprocess = None) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.scores_.score(x, postprocess)
            for _ in range(8):  # moves at most
                if np.isfinite(
                    scores.sum()
                ):  # as nearly always, and found in a fraction of the time
                    break
                lost = ~np.isfinite(scores.max(axis=1))  # one NaN, or none but −∞
                if not lost.any():
                    break
                # the squares of rows this far away overflow; nearer by in the same direction the
                # same class wins
                # Rows whose scores overflow are moved towards the origin by this factor.
                x = x * np.where(lost, 2.0**-256, 1.0)[:, None]
                scores[lost] = self.scores_.score(x[lost], postprocess)
        return scores

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """ln P(k) + ln p(x | k) up to a number common to all classes; of two, the log odds."""
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if scores.shape[1] == 2 else scores

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Floats:
        """P(k | x) for every row and class."""
        return self._scores(X, softmax)

    def predict_log_proba(self, X: Any) -> Floats:
        """ln P(k | x), exact also where the probability underflows."""
        return self._scores(X, log_softmax)

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row."""
        check_is_fitted(self)
        x, best = self._design(X), []
        # Scores of rows and classes that are held at a time for predictions.
        step = max(1, 4_000_000 // len(self.classes_))
        for start in range(0, x.shape[0], step):
            best.append(self._design_scores(x[start : start + step]).argmax(axis=1))
        return np.asarray(self.classes_[np.concatenate(best)])

    # -- the fitted model ----------------------------------------------------------------------

    @property
    def W_(self) -> Floats:
        """W = −½ Σₖ⁻¹ of the scores xᵀWx + w·x + w₀ (K x d x d); 0 if classes share Σ."""
        return self.scores_.canonical()[0]

    @property
    def w_(self) -> Floats:
        """Coefficients w = Σₖ⁻¹μₖ of the scores xᵀWx + w·x + w₀ (K x d)."""
        return self.scores_.canonical()[1]

    @property
    def w0_(self) -> Floats:
        """Constants w₀ = ln P(k) − ½ μₖᵀΣₖ⁻¹μₖ (− ½ ln|Σₖ| unless shared) of the scores (K)."""
        return self.scores_.canonical()[2]

    @property
    def n_parameters_(self) -> int:
        """Number of parameters estimated: means, covariances, and priors unless given."""
        k, d = self.means_.shape
        options = self._options()
        n_priors = k - 1 if options.priors is None else 0
        return int(k * d + covariance_parameters(options.covariance, k, d, options.rank) + n_priors)

    @property
    def normals_(self) -> tuple[MultivariateNormal, ...]:
        """The class densities, in the order of ``classes_``."""
        check_is_fitted(self)
        shared = self._options().covariance.startswith("shared")
        covariances = self._covariances()
        each = [covariances] * len(self.classes_) if shared else list(covariances)
        return tuple(
            MultivariateNormal(mean, np.diag(c) if c.ndim == 1 else c, self.encoding_.names)
            for mean, c in zip(self.means_, each, strict=True)
        )

    def _covariances(self) -> Floats:
        """The covariances of the class densities, of models that need not keep them as well."""
        self._require_products()
        return self.covariance_

    def _require_products(self) -> None:
        """Refuse what needs products of columns, where there were fewer rows than columns."""
        stored, needed = self.class_moments_.structure, self._structure()
        if stored == "diagonal" != needed:
            d = self.class_moments_.mean.shape[1]
            raise InputError(
                f"With fewer rows than columns no covariance of {d} x {d} is formed, nor can rows "
                "be added.",
                remedy="Use fewer columns, or more rows than columns.",
            )

    @property
    def hyperplane_(self) -> Hyperplane:
        """Signed distances, margins and projections, where classes share their covariance.

        One hyperplane of two classes, positive on the side of the second; else the scores of all.
        """
        check_is_fitted(self)
        if not self._options().covariance.startswith("shared"):
            raise AttributeError(
                "Classes with covariances of their own are parted by no hyperplane. "
                "Use boundary(first, second) for the quadric between two of them."
            )
        _, linear, constant = self.scores_.coefficients()
        if len(linear) == 2:
            linear, constant = linear[1:] - linear[:1], constant[1:] - constant[:1]
        return Hyperplane(linear, constant, self.encoding_.names)

    def boundary(self, first: Any, second: Any) -> Quadric:
        """Where two classes, by label, are equally probable; positive on the side of the second."""
        a, b = self._pair(first, second)
        quadratic, linear, constant = self.scores_.coefficients()
        return Quadric(
            quadratic[b] - quadratic[a], linear[b] - linear[a], float(constant[b] - constant[a])
        )

    def _pair(self, first: Any, second: Any) -> tuple[int, int]:
        """The positions of two classes, by label."""
        at = {label: i for i, label in enumerate(self.classes_.tolist())}
        if first not in at or second not in at:
            raise InputError(
                f"{first!r} and {second!r} are not both among the classes {list(at)[:12]}."
            )
        return at[first], at[second]

    @property
    def thresholds_(self) -> Floats:
        """Values of a single column at which the most probable class changes, in order.

        Between two classes one value if their variances agree, else two (or none, if one class is
        more probable everywhere).
        """
        check_is_fitted(self)
        if self.means_.shape[1] != 1:
            raise AttributeError(
                f"Thresholds are for one column, and there are {self.means_.shape[1]}. "
                "Use boundary(first, second) for the surface between two classes."
            )
        return _thresholds(self.scores_, self.class_moments_)

    def formula(self) -> nodes.ClassFormula:
        """The most probable class of normal densities."""
        return self._decide(nodes.Probabilities)

    def _decide(self, probabilities: Callable[..., nodes.Node]) -> nodes.ClassFormula:
        """The largest score decides, of two classes by the sign of the log odds."""
        labels, two = self.classes_, len(self.classes_) == 2
        names = nodes.probability_names(labels)
        joint = nodes.density_scores(
            self.scores_, nodes.design_of(self), [f"score {label}" for label in labels.tolist()]
        )
        odds = nodes.difference(joint, ["log odds"]) if two else joint
        return nodes.ClassFormula(
            nodes.ChosenLabel(joint, one=False),
            labels,
            odds,
            probabilities(joint, one=False, names=names),
            decided_by=odds,
            by_sign=two,
        )


class IncrementalGaussianClassifier(GaussianClassifier):
    """Gaussian class models with ``partial_fit``: class moments of portions add up."""

    _checks_sums = True

    @on_one_blas_thread
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows given before; ``classes`` lists all possible labels."""
        structure = self._structure()
        first = not hasattr(self, "class_moments_")
        self._number_type = np.result_type(number_type(X), np.float32 if first else self.means_)
        before = None if first else self.classes_
        known = class_labels.known_classes(self, X, classes)
        closed = classes is not None
        rows = class_labels.rows_with_codes(
            self, X, y, sample_weight, known=known, closed=closed, reset=first
        )
        moments = self._array_moments(rows, structure)
        if before is not None:
            self._require_products()
            position = np.searchsorted(self.classes_, before)
            moments = self.class_moments_.expand_classes(len(self.classes_), position) + moments
        self._fit_moments(moments, identity(rows.schema))
        return self


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


# -------------------------------------------------------------------------------------------------
# Options of Gaussian class models, and the certificate of what they lead to.


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
    """Covariance structure, shrinkage and priors of a Gaussian class model.

    ``tol`` is that of :class:`GaussianProblem`; ``posterior`` takes class moments to those of the
    posterior, where there is a prior on means and covariances; ``rank`` is that of
    :class:`GaussianProblem`; ``likeliest`` says that nothing is
    shrunk otherwise, so that the estimate is that of maximum likelihood.
    """

    covariance: str
    shrinkage: CovarianceShrinkage
    priors: Any = None
    tol: float | None = None
    posterior: Callable[[ClassMoments], ClassMoments] | None = None
    likeliest: bool = True
    rank: int | None = None


def covariance_parameters(kind: str, k: int, d: int, rank: int | None = None) -> int:
    """Number of free parameters in the covariances of ``k`` classes over ``d`` columns.

    With ``rank``, d (d + 1)/2 of the pooled one, and as many variances and orthogonal directions of
    each class; never more than those of a covariance for each.
    """
    per_covariance = {"full": d * (d + 1) // 2, "diagonal": d, "spherical": 1}
    per_covariance["shared"] = per_covariance["full"]
    if rank is not None:
        own = rank * d - rank * (rank - 1) // 2
        return min(per_covariance["full"] + k * own, k * per_covariance["full"])
    return per_covariance[kind.removeprefix("shared_")] * (1 if kind.startswith("shared") else k)


def certify(options: GaussianOptions, fit: GaussianFit, n_columns: int) -> Certificate:
    """Closed form: what can fail is the whitening of the covariances, AᵀΣA = I."""
    case = options.covariance.replace("_", ", ")
    plain = options.shrinkage.is_zero and options.likeliest and options.posterior is None
    plain = plain and options.rank is None
    if plain and not fit.degenerate:
        claim = f"Gaussian classes ({case} covariance): the maximum likelihood estimate"
    else:
        claim = f"Gaussian classes ({case} covariance) in closed form"
    notes = []
    if fit.degenerate:
        notes.append(
            "In some direction no class varies: classes that differ there are separated by it, "
            "with a variance of rounding size."
        )
    if options.posterior is not None:
        notes.append("Means and covariances are those of a posterior: the prior counts as rows.")
    if options.rank is not None:
        notes.append(
            "Each class has variances of its own in its leading directions, and those of all "
            "classes elsewhere."
        )
    if not options.shrinkage.is_zero:
        notes.append("Covariances are shrunk, so the likelihood is deliberately below its maximum.")
    if options.tol is not None and fit.rank < n_columns and not fit.degenerate:
        left = n_columns - fit.rank
        notes.append(
            f"Left out: {left} direction{'s' * (left != 1)} in which rows of one class hardly "
            "differ (tol), however far apart the classes are there."
        )
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


def prior_by_column(given: Any, default: Floats, name: str) -> Floats:
    """One number for each numeric column, as given or by ``default``."""
    if given is None:
        return default
    values = np.asarray(given, dtype=float)
    if values.shape not in ((), default.shape) or not np.isfinite(values).all():
        raise InputError(
            f"{name} must hold a finite number, or one for each of {len(default)} numeric columns."
        )
    if name == "prior_variance" and (values < 0).any():
        raise InputError("prior_variance must not be negative.")
    return np.broadcast_to(values, default.shape)


# -------------------------------------------------------------------------------------------------
# Gaussian naive Bayes: columns independent within classes.


@declare_parameters
class GaussianNB(IncrementalGaussianClassifier):
    """Gaussian naive Bayes: columns independent within classes.

        gₖ(x) = ln P(k) − Σⱼ [ln σₖⱼ + ½ (xⱼ − μₖⱼ)² / σₖⱼ²]

    Where the n rows of a class agree in a column, its variance there is s²/(n + 1), s² being that
    of all rows: as if one more row of the class were drawn from all rows.

    Parameters
    ----------
    priors : array-like of shape (n_classes,) or None, default=None
    var_smoothing : float, default=1e-9
        What is added to the class variances of a column, as a fraction of the largest variance
        that is possible within the column's range, (max − min)²/4. (scikit-learn adds a fraction of
        the largest variance of all columns, which depends on units.) A table that is streamed is
        read twice for it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    theta_ : ndarray of shape (n_classes, n_features)
        Class means.
    var_ : ndarray of shape (n_classes, n_features)
        Class variances.
    epsilon_ : ndarray of shape (n_features,)
        What was added to the class variances of each column.
    class_prior_ : ndarray of shape (n_classes,)
        Prior probabilities.
    class_count_ : ndarray of shape (n_classes,)
    range_ : ndarray of shape (2, n_features)
        Smallest and largest value of each column.
    certificate_ : Certificate
        Rank and condition number.

    See Also
    --------
    NaiveBayes : Numeric, boolean and discrete columns together, with missing values.
    GaussianDiscriminant : Other covariance structures, and a prior on means and variances.

    References
    ----------
    D. J. Hand and K. Yu, Idiot's Bayes: not so stupid after all?, International Statistical
    Review 69, 2001.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [5.0, 4.0], [6.0, 6.0]], ["a", "a", "b", "b"]
    >>> model = sx.GaussianNB().fit(X, y)
    >>> model.theta_
    array([[0.5, 0.5],
           [5.5, 5. ]])
    >>> model.predict([[4.0, 4.0]])
    array(['b'], dtype='<U1')
    """

    range_: Floats = field(init=False)

    _: KW_ONLY
    priors: Any = None
    var_smoothing: float = 1e-9

    def _options(self) -> GaussianOptions:
        if not 0 <= self.var_smoothing < np.inf:
            raise InputError(f"var_smoothing={self.var_smoothing} must not be negative.")
        likeliest = self.var_smoothing == 0
        return GaussianOptions("diagonal", CovarianceShrinkage(), self.priors, likeliest=likeliest)

    def _statistics(self, X: Any, y: Any, sample_weight: Any) -> Statistics:
        self.__dict__.pop("range_", None)
        statistics = super()._statistics(X, y, sample_weight)
        if isinstance(X, Rows):  # only now is the encoding of its columns known
            self.range_ = X.reduce(MappedStatistic(ColumnRange(), statistics[1])).inner.range
        return statistics

    def _array_moments(self, rows: Any, structure: str) -> ClassMoments:
        moments = super()._array_moments(rows, structure)
        extremes = moments.__dict__.pop("extremes", None)
        here = rows.reduce(ColumnRange()) if extremes is None else ColumnRange(extremes)
        self.range_ = (ColumnRange(getattr(self, "range_", None)) + here).range
        return moments

    @on_one_blas_thread
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows given before.

        ``classes`` lists all possible labels, and is required in the first call.
        """
        return super().partial_fit(X, y, class_labels.require_classes(self, classes), sample_weight)

    def _added_variances(self) -> Floats:
        return self.epsilon_

    def leave_one_out_fits(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> DiagonalFits | None:
        """Probabilities without each of the training rows; None if they need refits."""
        given = None if self.priors is None else self.priors_
        return diagonal_fits(self, X, y, sample_weight, given)

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """ln P(k) + ln p(x | k) of every row and class."""
        constant = 0.5 * (self.certificate_.rank or 0) * np.log(2.0 * np.pi)
        return np.asarray(self._scores(X) - constant)

    @property
    def theta_(self) -> Floats:
        """Class means (K x d)."""
        return self.means_

    @property
    def var_(self) -> Floats:
        """Class variances (K x d)."""
        return self.covariance_

    @property
    def epsilon_(self) -> Floats:
        """What was added to the class variances of each column."""
        return np.asarray(self.var_smoothing * (0.5 * (self.range_[1] - self.range_[0])) ** 2)

    @property
    def class_prior_(self) -> Floats:
        """Prior probabilities of the classes."""
        return self.priors_

    @property
    def class_count_(self) -> Floats:
        """Total sample weight of each class."""
        return np.asarray(self._round(self.class_moments_.weight))


class ColumnRange:
    """Smallest and largest value of each column over the rows of positive weight."""

    def __init__(self, found: Floats | None = None) -> None:
        self.found = found

    @property
    def range(self) -> Floats:
        """2 x d."""
        assert self.found is not None, "there are no rows"
        return self.found

    def fresh(self) -> Self:
        """The statistic of no rows."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        x = block.x if block.w is None or block.w.all() else block.take(block.w > 0).x
        if not x.shape[0]:
            return
        if isinstance(x, np.ndarray):
            extremes = column_extremes(x)
        else:
            extremes = np.stack([part.toarray().ravel() for part in (x.min(axis=0), x.max(axis=0))])
        self.found = (self + type(self)(extremes)).range

    def __add__(self, other: Self) -> Self:
        if self.found is None or other.found is None:
            return type(self)(other.found if self.found is None else self.found)
        low = np.minimum(self.found[0], other.found[0])
        return type(self)(np.stack([low, np.maximum(self.found[1], other.found[1])]))
