"""Naive Bayes on numeric, boolean and discrete columns together, with missing values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.discriminant.class_posterior import prior_by_column
from separatrix.discriminant.gaussian_options import class_priors
from separatrix.discriminant.naive_bayes.column_moments import ClassColumnMoments, with_missing
from separatrix.discriminant.naive_bayes.density import NaiveBayesDensity
from separatrix.discriminant.naive_bayes.level_counts import matrix_moments
from separatrix.discriminant.naive_bayes.lookup import level_lookup, sparse_scores
from separatrix.estimators.base import validate_data
from separatrix.estimators.class_labels import ClassLabels
from separatrix.geometry.class_scores import log_softmax, softmax
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Block, Floats
from separatrix.rows.categorical import OneHotColumns, with_kinds
from separatrix.rows.mapped import EncodedRows
from separatrix.rows.rows import ArrayRows, InMemory, Rows
from separatrix.rows.schema import Kind, Schema, Term, Terms
from separatrix.statistics.estimation import check_method, estimate_normal, estimate_proportions
from separatrix.statistics.standardizer import EPS, zero_if_constant
from separatrix.threads import parallel_map

#: A class is constant in a column below this fraction of the column's variance within classes.
FLOOR = 1e-9
#: Numbers in a chunk of rows that is scored at once.
CHUNK = 1_000_000
_ESTIMATES = {
    "ml": "the maximum likelihood estimate",
    "map": "the mode of the posterior",
    "bayes": "the mean of the posterior",
}


class NaiveBayes(ClassifierMixin, ClassLabels):
    """Naive Bayes: normal, Bernoulli or categorical densities by the kind of each column.

        p(k | x) ∝ πₖ Πⱼ p(xⱼ | k)

    Numeric columns have a mean and variance per class, boolean columns a probability per class,
    discrete ones a probability per level: (N + s)/(n + sL) with s = ``smoothing``. A missing value
    has no factor, in training and in prediction. One pass over the rows, whatever their number.

    Parameters
    ----------
    smoothing : float, default=1.0
        Added to every count (Laplace). With 0 a level that a class never had excludes the class;
        if every class is excluded, those with the fewest such values stay.
    estimation : {"ml", "map", "bayes"}, default="ml"
        Means and variances of numeric columns: by maximum likelihood; or as the mode or the mean of
        the posterior, with a prior of the strength of ``smoothing`` rows in every class.
    priors : array-like of shape (n_classes,) or None, default=None
        Prior probabilities πₖ in the order of ``classes_``; None takes the class proportions.
    kinds : str, list, mapping or None, default=None
        For a matrix: which columns are "numeric", "boolean" (0 and 1) or "discrete"; one word for
        all, a list, or a mapping from name or position. None is numeric. A table has its own.
    prior_mean : float, array-like of shape (n_numeric,) or None, default=None
        Mean of the prior of "map" and "bayes" in numeric columns; None takes that of all rows.
    prior_variance : float, array-like of shape (n_numeric,) or None, default=None
        Its variance; None takes that within classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order.
    theta_ : ndarray of shape (n_classes, n_numeric)
        Class means of the numeric columns.
    var_ : ndarray of shape (n_classes, n_numeric)
        Class variances of the numeric columns.
    class_prior_ : ndarray of shape (n_classes,)
        Prior probabilities πₖ.
    class_count_ : ndarray of shape (n_classes,)
        Total sample weight of each class.
    density_ : NaiveBayesDensity
        The class densities.
    column_moments_ : ClassColumnMoments
        The sufficient statistics, which add up over tables.
    schema_ : Schema
        The columns with their kinds and levels.
    from_table_ : bool
        Whether the columns came as a table with names.
    certificate_ : Certificate
        How the parameters were estimated.

    See Also
    --------
    GaussianNB : Numeric columns only.
    LinearDiscriminantAnalysis : Correlated numeric columns.

    References
    ----------
    P. Domingos and M. Pazzani, On the optimality of the simple Bayesian classifier under zero-one
    loss, Machine Learning 29, 1997.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[5.0, 1], [6.0, 1], [1.0, 0], [2.0, 1]], ["ill", "ill", "well", "well"]
    >>> model = sx.NaiveBayes(kinds=["numeric", "boolean"]).fit(X, y)
    >>> model.predict([[5.5, 1], [1.5, 0]]).tolist()
    ['ill', 'well']
    >>> model.predict_proba([[float("nan"), 1]]).round(2)
    array([[0.6, 0.4]])
    """

    _missing_ok = True
    column_moments_: ClassColumnMoments

    def __init__(
        self,
        smoothing: float = 1.0,
        *,
        estimation: str = "ml",
        priors: Any = None,
        kinds: str | list[str] | Mapping[Any, str] | None = None,
        prior_mean: Any = None,
        prior_variance: Any = None,
    ) -> None:
        self.smoothing = smoothing
        self.estimation = estimation
        self.priors = priors
        self.kinds = kinds
        self.prior_mean = prior_mean
        self.prior_variance = prior_variance

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._check()
        if isinstance(X, Rows):
            return self._fit_table(X, y, sample_weight)
        rows = self._coded_rows(X, y, sample_weight)
        self.from_table_ = False
        schema = with_kinds(rows.schema, self.kinds)
        return self._fit_moments(matrix_moments(rows, schema, Terms(tuple(self._terms()))), schema)

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows given before; ``classes`` lists all possible labels."""
        self._check()
        first = not hasattr(self, "column_moments_")
        known = self._known_classes(X, classes)
        closed = classes is not None
        rows = self._coded_rows(X, y, sample_weight, known=known, closed=closed, reset=first)
        self.from_table_ = False
        schema = with_kinds(rows.schema, self.kinds)
        moments = matrix_moments(rows, schema, Terms(tuple(self._terms())))
        return self._fit_moments(moments if first else self.column_moments_ + moments, schema)

    def _fit_table(self, X: Rows, y: Any, sample_weight: Any) -> Self:
        if self.kinds is not None:
            raise InputError(
                "A table has kinds of its own.", remedy="Give them to scan(…, kinds={…})."
            )
        rows = self._class_rows(X, y, sample_weight)
        raw = rows.rows if isinstance(rows, EncodedRows) else rows
        self.from_table_ = not isinstance(raw, ArrayRows)
        m = ClassColumnMoments()
        if isinstance(raw, InMemory) and sparse.issparse(raw.block.x):
            m.update(raw.block)  # indicators are counted on threads, without copies of chunks
        else:
            m = raw.reduce(m)
        present = Terms(tuple(t for t, w in zip(m.targets, m.weight, strict=True) if w > 0))
        terms = self._class_terms(rows, present)
        m = m.aligned(m.terms, m.targets.union(terms))
        at = [m.targets.position[term] for term in terms]
        parts = (part[at] for part in (m.weight, m.observed, m.mean, m.scatter))
        return self._fit_moments(ClassColumnMoments(m.terms, terms, *parts), raw.schema)

    def _check(self) -> None:
        check_method(self.estimation)
        if not (np.isfinite(self.smoothing) and self.smoothing >= 0):
            raise InputError(f"smoothing={self.smoothing!r} must be finite and not negative.")

    # -- from moments to densities -------------------------------------------------------------

    def _fit_moments(self, moments: ClassColumnMoments, schema: Schema) -> Self:
        terms = Terms(tuple(self._terms(moments.targets.items[0].column)))
        self.column_moments_ = m = moments.aligned(moments.terms, terms)
        self.class_count_ = m.weight
        self.class_prior_ = class_priors(self.priors, m.weight)
        levels: dict[str, set[str | None]] = {c.name: set() for c in schema.columns}
        for term, count in zip(m.terms, m.counts.sum(axis=0), strict=True):
            if count > 0 and term.column in levels:
                levels[term.column].add(term.level)
        self.schema_ = replace(
            schema,
            columns=tuple(
                replace(c, levels=tuple(sorted({*c.levels, *filter(None, levels[c.name])})))
                if c.kind is Kind.DISCRETE
                else c
                for c in schema.columns
            ),
        )
        self.density_, floored = self._density(m)
        self.theta_, self.var_ = self.density_.mean, self.density_.variance
        self.certificate_ = self._certificate(floored)
        return self

    def _density(self, m: ClassColumnMoments) -> tuple[NaiveBayesDensity, list[str]]:
        """The class densities, and the columns whose variance was raised to the floor."""
        by_kind: dict[Kind, list[Term]] = {kind: [] for kind in Kind}
        probabilities = []
        for column in self.schema_.columns:
            own = [Term(column.name)]
            if column.kind is Kind.DISCRETE:
                own = [Term(column.name, level) for level in column.levels]
                counts = m.aligned(Terms(tuple(own)), m.targets).counts
                probabilities.append(estimate_proportions(counts, prior=self.smoothing))
            by_kind[column.kind] += own
        numeric = m.aligned(Terms(tuple(by_kind[Kind.NUMERIC])), m.targets)
        mean, variance, floored = self._normals(numeric)
        boolean = m.aligned(Terms(tuple(by_kind[Kind.BOOLEAN])), m.targets)
        pair = np.stack([boolean.counts, boolean.observed - boolean.counts], axis=2)
        true = estimate_proportions(np.maximum(pair, 0.0), prior=self.smoothing)[:, :, 0]
        terms = Terms(tuple(t for kind in Kind for t in by_kind[kind]))
        stacked = np.concatenate([true, *probabilities], axis=1)
        n_boolean = len(by_kind[Kind.BOOLEAN])
        return NaiveBayesDensity(terms, n_boolean, mean, variance, stacked), floored

    def _normals(self, m: ClassColumnMoments) -> tuple[Floats, Floats, list[str]]:
        """Class means and variances; constant columns get an infinite variance.

        Where n rows of a class agree, its variance is that of all rows over n + 1: as if one more
        row of the class were drawn from all rows.
        """
        n = m.observed.sum(axis=0)
        safe = np.where(n > 0, n, 1.0)
        center = m.counts.sum(axis=0) / safe
        within = m.scatter.sum(axis=0) / safe
        total = within + (m.observed * (m.mean - center) ** 2).sum(axis=0) / safe
        varies = zero_if_constant(np.sqrt(total), center) > 0.0
        mean, variance = estimate_normal(
            m.observed,
            m.mean,
            m.scatter,
            prior_mean=prior_by_column(self.prior_mean, center, "prior_mean"),
            prior_variance=prior_by_column(self.prior_variance, within, "prior_variance"),
            prior_count=self.smoothing,
            method=self.estimation,
        )
        unobserved = m.observed == 0
        mean = np.where(unobserved, center, mean)
        variance = np.where(unobserved, total, variance)
        rounding = (16 * EPS) ** 2 * (total + center**2)
        floor = FLOOR * np.where(within > rounding, within, total)
        low = varies & (variance < floor)
        variance = np.where(low, total / (m.observed + 1.0), variance)
        variance = np.where(varies, variance, np.inf)
        names = [str(term) for term in m.terms]
        return mean, variance, [names[j] for j in np.flatnonzero(low.any(axis=0))]

    def _certificate(self, floored: list[str]) -> Certificate:
        notes = ["Probabilities are right if columns are independent within classes."]
        if len(self.density_.terms) > self.theta_.shape[1]:
            notes.append(f"Counts are smoothed by {self.smoothing:g} each.")
        constant = np.isinf(self.var_).all(axis=0).sum()
        if constant:
            notes.append(f"Constant columns, which have no influence: {constant}.")
        if floored:
            shown = ", ".join(floored[:5]) + (" …" if len(floored) > 5 else "")
            notes.append(f"A class is constant in {shown}: its variance was raised to a minimum.")
        estimate = _ESTIMATES[self.estimation]
        claim = f"Naive Bayes in closed form: class means and variances are {estimate}"
        return Certificate(claim, notes=tuple(notes), promised=())

    # -- predictions ---------------------------------------------------------------------------

    def _joint_log_likelihood(self, X: Any) -> Floats:
        """log πₖ + log p(x | k)."""
        check_is_fitted(self)
        block = self._raw_block(X)
        whole = sparse_scores(self.density_, block) if self.from_table_ else None
        if whole is not None:
            return self._with_priors(whole)
        lookup = None if self.from_table_ else level_lookup(self.density_, self.schema_)
        width = len(self.schema_.columns) if lookup else len(self.density_.terms)
        step = max(64, CHUNK // max(1, width, 16 * (lookup is not None)))
        pieces = [slice(i, i + step) for i in range(0, max(block.n, 1), step)]

        def one(rows: slice) -> Floats:
            part = block.take(rows)
            found = None if lookup is None else lookup.scores(part)
            return self._with_priors(self._indicator_scores(part) if found is None else found)

        return np.concatenate(parallel_map(one, pieces))

    def _raw_block(self, X: Any) -> Block:
        if self.from_table_:
            from separatrix.rows.scan import rows_like

            return rows_like(X, self.schema_).collect()
        if isinstance(X, Rows):
            X = X.collect().x
        x = validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=float, ensure_all_finite="allow-nan"
        )
        terms = Terms(tuple(Term(name) for name in self.schema_.names))
        x = sparse.csr_array(x) if sparse.issparse(x) else x
        return Block(x, np.empty((x.shape[0], 0)), None, terms, Terms(()))

    def _with_priors(self, scores: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            log_prior = np.log(self.class_prior_)
        scores += log_prior
        impossible = np.isneginf(scores).all(axis=1)
        scores[impossible] = log_prior  # no class could have such a row: only the priors are left
        return scores

    def _indicator_scores(self, block: Block) -> Floats:
        """log p(x | k) from one indicator for each level."""
        if not self.from_table_:
            block = OneHotColumns(self.schema_).apply(block)
        x, wanted = with_missing(block), self.density_.terms
        if block.terms.items != wanted.items:
            aligned = np.zeros((len(x), len(wanted)))
            for j, term in enumerate(wanted):
                at = block.terms.position.get(term)
                if at is not None:
                    aligned[:, j] = x[:, at]
            x = aligned
        return self.density_.scores(x)

    def predict_log_proba(self, X: Any) -> Floats:
        """log p(k | x)."""
        return log_softmax(self._joint_log_likelihood(X))

    def predict_proba(self, X: Any) -> Floats:
        """p(k | x); every row adds up to one."""
        return softmax(self._joint_log_likelihood(X))

    def decision_function(self, X: Any) -> Floats:
        """Two classes: log p(1 | x)/p(0 | x). More: log p(k | x)."""
        joint = self._joint_log_likelihood(X)
        return joint[:, 1] - joint[:, 0] if len(self.classes_) == 2 else log_softmax(joint)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])
