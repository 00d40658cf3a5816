"""Naive Bayes on numeric, boolean and discrete columns together, with missing values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.discriminant.gaussian_classifier import prior_by_column
from separatrix.estimators import class_labels
from separatrix.estimators.base import RowsEstimator, reads_tables, validate_data
from separatrix.formula import nodes
from separatrix.formula.values import Value
from separatrix.geometry.class_scores import log_softmax, softmax
from separatrix.matrices.products import products
from separatrix.messages import InputError
from separatrix.mixins import ClassifierMixin
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.rows.categorical import OneHotColumns, with_kinds
from separatrix.rows.rows import ArrayRows, EncodedRows, InMemory, MappedStatistic, Rows
from separatrix.rows.schema import (
    NO_TERMS,
    Block,
    Kind,
    Schema,
    Term,
    Terms,
    to_array,
    unit_weights,
)
from separatrix.statistics.class_counts import class_counts
from separatrix.statistics.estimation import check_method, estimate_normal, estimate_proportions
from separatrix.statistics.moments import EPS, Moments, not_finite, zero_if_constant
from separatrix.threads import on_one_blas_thread, parallel_map, pieces

_ESTIMATES = {
    "ml": "the maximum likelihood estimate",
    "map": "the mode of the posterior",
    "bayes": "the mean of the posterior",
}


@declare_parameters
class NaiveBayes(ClassifierMixin, RowsEstimator):
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
    theta_ : ndarray of shape (n_classes, n_numeric)
        Class means of the numeric columns.
    var_ : ndarray of shape (n_classes, n_numeric)
        Class variances of the numeric columns.
    class_prior_ : ndarray of shape (n_classes,)
        Prior probabilities πₖ.
    class_count_ : ndarray of shape (n_classes,)
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
    column_moments_: ClassColumnMoments = field(init=False)

    smoothing: float = 1.0
    _: KW_ONLY
    estimation: str = "ml"
    priors: Any = None
    kinds: str | list[str] | Mapping[Any, str] | None = None
    prior_mean: Any = None
    prior_variance: Any = None

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._check()
        if isinstance(X, Rows):
            return self._fit_table(X, y, sample_weight)
        rows = class_labels.rows_with_codes(self, X, y, sample_weight)
        self.from_table_ = False
        schema = with_kinds(rows.schema, self.kinds)
        return self._fit_moments(
            matrix_moments(rows, schema, class_labels.label_terms(self.classes_)), schema
        )

    @on_one_blas_thread
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows given before; ``classes`` lists all possible labels."""
        self._check()
        first = not hasattr(self, "column_moments_")
        known = class_labels.known_classes(self, X, classes)
        closed = classes is not None
        rows = class_labels.rows_with_codes(
            self, X, y, sample_weight, known=known, closed=closed, reset=first
        )
        self.from_table_ = False
        schema = with_kinds(rows.schema, self.kinds)
        moments = matrix_moments(rows, schema, class_labels.label_terms(self.classes_))
        return self._fit_moments(moments if first else self.column_moments_ + moments, schema)

    def _fit_table(self, X: Rows, y: Any, sample_weight: Any) -> Self:
        if self.kinds is not None:
            raise InputError(
                "A table has kinds of its own.", remedy="Give them to scan(…, kinds={…})."
            )
        rows = class_labels.class_rows(self, X, y, sample_weight)
        raw = rows.rows if isinstance(rows, EncodedRows) else rows
        self.from_table_ = not isinstance(raw, ArrayRows)
        m = ClassColumnMoments()
        if isinstance(raw, InMemory) and sparse.issparse(raw.block.x):
            m.update(raw.block)  # indicators are counted on threads, without copies of chunks
        else:
            m = raw.reduce(m)
        present = Terms(tuple(t for t, w in zip(m.targets, m.weight, strict=True) if w > 0))
        terms = class_labels.class_terms(self, rows, present)
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
        terms = class_labels.label_terms(self.classes_, moments.targets.items[0].column)
        self.column_moments_ = m = moments.aligned(moments.terms, terms)
        self.class_count_ = m.weight
        self.class_prior_ = class_labels.class_priors(self.priors, m.weight)
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
            column_terms = [Term(column.name)]
            if column.kind is Kind.DISCRETE:
                column_terms = [Term(column.name, level) for level in column.levels]
                counts = m.aligned(Terms(tuple(column_terms)), m.targets).counts
                probabilities.append(estimate_proportions(counts, prior=self.smoothing))
            by_kind[column.kind] += column_terms
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
        # A class is constant in a column below this fraction of the column's variance within
        # classes.
        floor = 1e-9 * np.where(within > rounding, within, total)
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
        # Numbers in a chunk of rows that is scored at once.
        step = max(64, 1_000_000 // max(1, width, 16 * (lookup is not None)))
        pieces = [slice(i, i + step) for i in range(0, max(block.n, 1), step)]

        def one(rows: slice) -> Floats:
            part = block.take(rows)
            scores = None if lookup is None else lookup.scores(part)
            return self._with_priors(self._indicator_scores(part) if scores is None else scores)

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
        return self.density_.scores(self._align(block))

    def _align(self, block: Block) -> Floats:
        """Values over the terms of the density, NaN where one is missing."""
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
        return x

    def predict_log_proba(self, X: Any) -> Floats:
        """log p(k | x)."""
        return log_softmax(self._joint_log_likelihood(X))

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Floats:
        """p(k | x); every row adds up to one."""
        return softmax(self._joint_log_likelihood(X))

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """Two classes: log p(1 | x)/p(0 | x). More: log p(k | x)."""
        joint = self._joint_log_likelihood(X)
        return joint[:, 1] - joint[:, 0] if len(self.classes_) == 2 else log_softmax(joint)

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def formula(self) -> nodes.ClassFormula:
        """log πₖ + Σ log p(xⱼ | k) over the columns that have a value."""
        terms = nodes.RawTerms(
            self.schema_, self.density_.terms, self._levels_read, self.from_table_
        )
        names = [f"score {label}" for label in self.classes_.tolist()]
        joint = NaiveBayesScores(terms, self.density_, self.class_prior_, names=tuple(names))
        p = nodes.Probabilities(joint, one=False, names=nodes.probability_names(self.classes_))
        two = len(self.classes_) == 2
        odds = nodes.difference(joint, ["log odds"]) if two else nodes.LogNormalized(joint)
        return nodes.by_probability(p, self.classes_, odds)

    def _levels_read(self, X: Any) -> tuple[Floats, Floats]:
        """Values over the terms of the density, 0 where one is missing; and where there is one."""
        x = self._align(self._raw_block(X))
        there = ~np.isnan(x)
        return np.where(there, x, 0.0), there.astype(np.float64)


# -------------------------------------------------------------------------------------------------
# Class densities of naive Bayes: a product over columns, independent within each class.
#
#     log p(x | k) = Σ numeric   −½ (xⱼ − μₖⱼ)²/σₖⱼ² − ½ log 2πσₖⱼ²
#                  + Σ boolean   xⱼ log pₖⱼ + (1 − xⱼ) log(1 − pₖⱼ)
#                  + Σ levels    xₗ log pₖₗ
#
# A missing value has no factor.


@dataclass(frozen=True)
class NaiveBayesDensity:
    """Parameters of the class densities; arrays are K x number of terms.

    ``terms`` are numeric columns, then boolean columns, then levels. ``mean`` and ``variance``
    describe the numeric ones; a variance of infinity marks a constant column. ``probabilities`` are
    those of true, and of the levels.
    """

    terms: Terms
    n_boolean: int
    mean: Floats
    variance: Floats
    probabilities: Floats

    def scores(self, x: Floats) -> Floats:
        """log p(x | k) for rows over ``terms`` (n x K), NaN where a value is missing.

        A probability of zero excludes a class: its score is −∞. If every class is excluded, those
        with the fewest such values stay, as in the limit of vanishing probabilities.
        """
        d = self.mean.shape[1]
        out = self.normal_scores(x[:, :d])
        if d < len(self.terms):
            self._add_levels(x[:, d:], out)
        return out

    def normal_scores(self, x: Floats) -> Floats:
        """The part of the numeric columns, which alone are given."""
        from separatrix.statistics.loops import add_gaussian_scores

        out = np.zeros((len(x), len(self.mean)))
        if x.shape[1]:
            constant = np.isinf(self.variance)
            with np.errstate(divide="ignore"):
                precision = 1.0 / self.variance
            log_norm = np.where(
                constant, 0.0, -0.5 * np.log(2 * np.pi * np.where(constant, 1.0, self.variance))
            )
            add_gaussian_scores(np.ascontiguousarray(x), self.mean, precision, log_norm, out)
        return out

    def _add_levels(self, x: Floats, out: Floats) -> None:
        p, n = self.probabilities, self.n_boolean
        present = ~np.isnan(x)
        x = x if present.all() else np.where(present, x, 0.0)
        never, always = p <= 0.0, p[:, :n] >= 1.0
        false = present[:, :n] - x[:, :n]
        out += x @ np.log(np.where(never, 1.0, p)).T
        out += false @ np.log(np.where(always, 1.0, 1.0 - p[:, :n])).T
        if never.any() or always.any():
            excluding = x @ never.T.astype(float) + false @ always.T.astype(float)
            out[excluding > excluding.min(axis=1, keepdims=True)] = -np.inf


@dataclass(frozen=True, eq=False)
class NaiveBayesScores(nodes.Node):
    """log πₖ + log p(x | k), over values and marks of where there are any."""

    levels: nodes.RawTerms
    density: NaiveBayesDensity
    prior: Floats
    stage: ClassVar[str] = "scores"

    def typical_points(self) -> Floats:
        """A standard deviation below and above the means of the classes, of numeric columns."""
        variance = np.where(np.isinf(self.density.variance), 0.0, self.density.variance)
        return np.concatenate(
            [self.density.mean - np.sqrt(variance), self.density.mean + np.sqrt(variance)]
        )

    def compute(self, of: nodes.Evaluation) -> Any:
        """Numbers column by column, levels by tables; where all classes are excluded, the prior."""
        density, both = self.density, of(self.levels)
        m, d = len(density.terms), density.mean.shape[1]
        scores = both.fill(0.0, len(density.mean))
        if d:
            scores = self._normal(both.columns(*range(d)), both.columns(*range(m, m + d)), scores)
        excluded = None
        if d < m:
            x, there = both.columns(*range(d, m)), both.columns(*range(m + d, 2 * m))
            scores, excluded = self._levels(x, there, scores)
        with np.errstate(divide="ignore"):
            log_prior = np.log(self.prior)[None, :]
        scores = scores + log_prior
        if excluded is not None:
            scores = excluded.where(-np.inf, scores)
        if excluded is None and np.isfinite(log_prior).all():
            return scores
        return (scores.max() > -np.inf).where(scores, log_prior)

    def _normal(self, x: Value, there: Value, start: Value) -> Value:
        """− ½ (xⱼ − μ)²/σ² − ½ log 2πσ² where there is a value, and the column is not constant."""
        constant = np.isinf(self.density.variance)
        variance = np.where(constant, 1.0, self.density.variance)
        precision = np.where(constant, 0.0, 1.0 / variance)
        log_norm = np.where(constant, 0.0, -0.5 * np.log(2 * np.pi * variance))

        total = start
        for j in range(self.density.mean.shape[1]):
            away = (x.column(j) - self.density.mean[None, :, j]).square()
            term = log_norm[None, :, j] - away * (0.5 * precision[None, :, j])
            total = total + there.column(j) * term
        return total

    def _levels(self, x: Value, there: Value, scores: Value) -> tuple[Value, Value | None]:
        """With the logarithms of the levels' probabilities; and where a class is excluded."""
        p, n = self.density.probabilities, self.density.n_boolean
        never, always = p <= 0.0, p[:, :n] >= 1.0
        scores = scores + x @ np.log(np.where(never, 1.0, p)).T
        excluding = x @ never.T.astype(float)
        if n:
            first = range(n)
            false = there.columns(*first) - x.columns(*first)
            scores = scores + false @ np.log(np.where(always, 1.0, 1.0 - p[:, :n])).T
            excluding = excluding + false @ always.T.astype(float)
        if not (never.any() or always.any()):
            return scores, None
        excluding = excluding.named("impossible", ["impossible"] * len(p))
        return scores, excluding > excluding.min()


# -------------------------------------------------------------------------------------------------
# Scores of naive Bayes looked up by level, without indicators, of which all but one are zero.


@dataclass(frozen=True)
class LevelLookup:
    """log p(level | k) of the levels of some ``columns``: those of one after those of another.

    The levels of ``columns[c]`` are ``values[starts[c]:starts[c + 1]]``, ascending.
    """

    density: NaiveBayesDensity
    numeric: Ints
    columns: Ints
    values: Floats
    starts: Ints
    logs: Floats

    def scores(self, block: Block) -> Floats | None:
        """log p(x | k) of rows with one number per column, of which NaN is a missing value.

        None if a value is not a known level, which must be reported.
        """
        from separatrix.statistics.loops import add_level_scores

        x = np.ascontiguousarray(block.dense(), dtype=float)
        out = self.density.normal_scores(x[:, self.numeric])
        known = add_level_scores(x, self.columns, self.values, self.starts, self.logs, out)
        return out if known else None


def level_lookup(density: NaiveBayesDensity, schema: Schema) -> LevelLookup | None:
    """The lookup of a model; None if a probability is zero, which excludes classes."""
    if not density.probabilities.size or _excludes(density):
        return None
    true = density.probabilities[:, : density.n_boolean]
    position = density.terms.position
    values, logs, columns, counts = [], [], [], [0]
    d = density.mean.shape[1]
    for j, column in enumerate(schema.columns):
        if column.kind is Kind.NUMERIC:
            continue
        if column.kind is Kind.BOOLEAN:
            levels, p = np.array([0.0, 1.0]), true[:, position[Term(column.name)] - d]
            probabilities = np.stack([1.0 - p, p])
        else:
            levels = np.array([float(level) for level in column.levels])
            at = [position[Term(column.name, level)] - d for level in column.levels]
            order = np.argsort(levels)
            levels, probabilities = levels[order], density.probabilities[:, at].T[order]
        values.append(levels)
        logs.append(np.log(probabilities))
        columns.append(j)
        counts.append(len(levels))
    numeric = [j for j, column in enumerate(schema.columns) if column.kind is Kind.NUMERIC]
    return LevelLookup(
        density,
        np.array(numeric, dtype=np.int64),
        np.array(columns),
        np.concatenate(values),
        np.cumsum(counts),
        np.ascontiguousarray(np.concatenate(logs)),
    )


def sparse_scores(density: NaiveBayesDensity, block: Block) -> Floats | None:
    """log p(x | k) of sparse indicators of levels, which are not filled in.

    None for other columns, and where a probability of zero excludes classes. A missing value, and
    a level that is not known, has no factor.
    """
    others = density.mean.shape[1] + density.n_boolean
    if not sparse.issparse(block.x) or others or _excludes(density):
        return None
    at = [density.terms.position.get(term, -1) for term in block.terms]
    logs = np.concatenate([np.log(density.probabilities.T), np.zeros((1, len(density.mean)))])
    return products(block.x).times(logs[at])


def _excludes(density: NaiveBayesDensity) -> bool:
    """Whether a value that a class never has excludes the class."""
    p = density.probabilities
    return bool((p <= 0.0).any() or (p[:, : density.n_boolean] >= 1.0).any())


# -------------------------------------------------------------------------------------------------
# Levels of a matrix counted by class, without an indicator for each of them.
#
# A matrix of codes 0, 1, 2, … is read once; every value adds the weight of its row to one number of
# a table (levels x K), which is small.


#: Rows that are worth a piece of their own.
MIN_ROWS = 4096


def matrix_moments(rows: ArrayRows, schema: Schema, targets: Terms) -> ClassColumnMoments:
    """Moments by class of a matrix: of its numbers, and of the indicators of its levels."""
    empty, one_hot = ClassColumnMoments(targets=targets), OneHotColumns(schema)
    if one_hot.is_identity:
        return rows.reduce(empty)
    counted = count_levels(rows.block, schema, targets)
    if counted is None:
        return rows.reduce(MappedStatistic(empty, one_hot)).inner
    others, rest = _without_levels(rows, schema)
    if not others.columns:
        return counted
    return counted.beside(rest.reduce(MappedStatistic(empty, OneHotColumns(others))).inner)


def count_levels(block: Block, schema: Schema, targets: Terms) -> ClassColumnMoments | None:
    """The moments of the indicators of all levels of the discrete columns, by class.

    None if values are not codes, or too many for a table: they are then compared one by one.
    """
    at = np.array([j for j, c in enumerate(schema.columns) if c.kind is Kind.DISCRETE])
    known = any(schema.columns[j].levels for j in at)
    if not isinstance(block.x, np.ndarray) or known or not len(at) or block.parts is None:
        return None
    maxima = _largest_codes(block.x, at)
    if maxima is None or maxima.sum() * len(targets) > max(block.x.size, 100_000):
        return None
    starts = np.concatenate([[0], np.cumsum(maxima + 2)])  # the last of a column: missing
    counts = _table(block, at, starts, len(targets))
    moments = _moments(counts, schema, at, starts, targets)
    moments.weight = np.bincount(block.parts, block.w, len(targets)).astype(np.float64)
    names = [schema.columns[j].name for j in at]
    missing = {name: counts[stop - 1] for name, stop in zip(names, starts[1:], strict=True)}
    moments.set_counts(moments.mean, np.stack([missing[t.column] for t in moments.terms], axis=1))
    return moments


def _without_levels(rows: ArrayRows, schema: Schema) -> tuple[Schema, ArrayRows]:
    """The other columns, numeric and boolean, and the rows over them."""
    at = [j for j, c in enumerate(schema.columns) if c.kind is not Kind.DISCRETE]
    others = replace(schema, columns=tuple(schema.columns[j] for j in at))
    block = rows.block
    rest = ArrayRows(block.x[:, at], None, block.w, names=others.names, parts=block.parts)
    return others, rest


def _largest_codes(x: Floats, indices: Ints) -> Ints | None:
    """The largest code of every column; None where a value is not a code."""
    from separatrix.statistics.loops import largest_codes

    def one(rows: slice) -> Ints:
        codes = np.zeros(len(indices), dtype=np.int64)
        # Codes above this are not looked up in a table.
        largest_codes(x[rows], indices, float(10_000), codes)
        return codes

    found = np.stack(parallel_map(one, pieces(len(x), MIN_ROWS)))
    return None if found.min(initial=0) < 0 else found.max(axis=0, initial=0)


def _table(block: Block, indices: Ints, starts: Ints, k: int) -> Floats:
    """The weight of every level, and of missing values, by class (levels x K)."""
    from separatrix.statistics.loops import add_levels

    x, codes, w = block.x, block.parts, unit_weights(block.w, block.n)
    assert isinstance(x, np.ndarray)
    assert codes is not None

    def one(rows: slice) -> Floats:
        counts = np.zeros((int(starts[-1]), k))
        add_levels(x[rows], codes[rows], w[rows], indices, starts, counts)
        return counts

    tables = parallel_map(one, pieces(block.n, max(MIN_ROWS, 8 * int(starts[-1]))))
    total = tables[0]
    for counts in tables[1:]:
        total += counts
    return total


def _moments(
    counts: Floats, schema: Schema, indices: Ints, starts: Ints, targets: Terms
) -> ClassColumnMoments:
    """Terms of the levels that occur, with their counts in place of their means."""
    terms: list[Term] = []
    rows: list[int] = []
    occurs = (counts > 0.0).sum(axis=1)
    for c, j in enumerate(indices):
        found = np.flatnonzero(occurs[starts[c] : starts[c + 1] - 1])
        order = sorted((str(code), int(starts[c]) + code) for code in found.tolist())
        terms += [Term(schema.columns[j].name, text) for text, _ in order]
        rows += [row for _, row in order]
    moments = ClassColumnMoments(Terms(tuple(terms)), targets)
    moments.mean = np.ascontiguousarray(counts[rows].T)
    return moments


# -------------------------------------------------------------------------------------------------
# Weight, mean and scatter of every column by class; missing values are left out.
#
#     nₖⱼ = Σ w,    μₖⱼ = Σ w x / nₖⱼ,    Sₖⱼ = Σ w (x − μₖⱼ)²      over the rows of class k with a
#                                                                   value in column j
#
# The mean of a level's indicator is its relative frequency, so these are the counts of discrete
# columns too. They are sufficient statistics of naive Bayes.


class ClassColumnMoments:
    """Mergeable with +. ``weight`` (K) is that of all rows of a class; the others are K x m.

    ``observed`` is the weight of the rows with a value. The class of a row is the indicator among
    its targets; a row without targets has as its part the position of its class in ``targets``.
    """

    def __init__(
        self,
        terms: Terms = NO_TERMS,
        targets: Terms = NO_TERMS,
        weight: Floats | None = None,
        observed: Floats | None = None,
        mean: Floats | None = None,
        scatter: Floats | None = None,
    ) -> None:
        shape = (len(targets), len(terms))
        self.terms, self.targets = terms, targets
        self.weight = np.zeros(shape[0]) if weight is None else weight
        self.observed = np.zeros(shape) if observed is None else observed
        self.mean = np.zeros(shape) if mean is None else mean
        self.scatter = np.zeros(shape) if scatter is None else scatter

    def fresh(self) -> Self:
        """An empty one for the same classes."""
        return type(self)(targets=self.targets)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        merged = self + self._of(block)
        self.__dict__.update(merged.__dict__)

    def from_class_moments(self, schema: Schema, parts: Mapping[Term, Moments]) -> Self:
        """The same from the moments of the raw terms of every class, without the rows.

        Missing values are at the placeholder o of their column in those: with a = x − o, sums of a
        and a² are those of the rows with a value.
        """
        origins = {column.name: column.placeholder for column in schema.columns}
        total = type(self)()
        for target, moments in parts.items():
            if moments.count:
                total = total + self._of_moments(moments, Terms((target,)), origins)
        return total

    def _of_moments(self, m: Moments, targets: Terms, origins: Mapping[str, float]) -> Self:
        part = type(self)(m.terms, targets, np.array([m.weight]))
        part.set_counts(m.weight * m.x_mean[None], np.zeros((1, m.d)))
        part.set_counts(part.counts, part._missing_by_term(part.counts))
        values = [j for j, t in enumerate(m.terms) if t.level is None and not t.missing]
        origin = np.array([origins[m.terms.items[j].column] for j in values])
        first = m.weight * (m.x_mean[values] - origin)
        second = np.diag(m.xx)[values] + first * (m.x_mean[values] - origin)
        observed = part.observed[0, values]
        step = first / np.where(observed > 0, observed, 1.0)
        part.mean[0, values] = origin + step
        part.scatter[0, values] = np.maximum(second - observed * step**2, 0.0)
        whole = observed >= m.weight  # nothing missing: no digits lost to the origin
        part.mean[0, values] = np.where(whole, m.x_mean[values], part.mean[0, values])
        part.scatter[0, values] = np.where(whole, np.diag(m.xx)[values], part.scatter[0, values])
        return part

    def _of(self, block: Block) -> Self:
        if len(block.targets):
            targets, codes = block.targets, block.y.argmax(axis=1).astype(np.int64)
            labeled = block.y.max(axis=1, initial=0.0) > 0
        else:
            assert block.parts is not None, "the rows carry no classes"
            targets, codes = self.targets, block.parts
            labeled = np.ones(block.n, dtype=bool)
        w = np.where(labeled, 1.0 if block.w is None else block.w, 0.0)
        positive = w > 0
        if not positive.all():
            block, codes, w = block.take(positive), codes[positive], w[positive]
        part = type(self)(block.terms, targets)
        part.weight = np.asarray(np.bincount(codes, w, minlength=len(targets)), dtype=float)
        codes = np.ascontiguousarray(codes)
        if isinstance(block.x, np.ndarray):
            part._add(block, codes, w)
        else:
            part._add_sparse(block, codes, w)
        return part

    def _add_sparse(self, block: Block, codes: Ints, w: Floats) -> None:
        """Indicators are counted, never filled in; columns of values, which are few, are dense."""
        counts = class_counts(block.x, codes, w, len(self.weight)).counts
        self.set_counts(counts, self._missing_by_term(counts))
        at = [j for j, term in enumerate(self.terms) if not (term.level or term.missing)]
        if not at:
            return
        names = {self.terms.items[j].column for j in at}
        at += [j for j, t in enumerate(self.terms) if t.missing and t.column in names]
        terms = Terms(tuple(self.terms.items[j] for j in at))
        values = type(self)(terms, self.targets, self.weight)
        values._add(replace(block, x=to_array(block.x[:, at]), terms=terms), codes, w)
        self.observed[:, at], self.mean[:, at] = values.observed, values.mean
        self.scatter[:, at] = values.scatter

    def _missing_by_term(self, counts: Floats) -> Floats:
        """The weight of the rows in which the column of each term is missing, by class."""
        at = [
            -1 if t.missing else self.terms.position.get(Term(t.column, missing=True), -1)
            for t in self.terms
        ]
        return np.where(np.array(at) >= 0, counts[:, at], 0.0)

    def set_counts(self, counts: Floats, missing: Floats) -> None:
        """The moments of indicators from their counts: of n rows with a value, c have a one."""
        self.observed = self.weight[:, None] - missing
        self.mean = counts / np.where(self.observed > 0, self.observed, 1.0)
        self.scatter = np.maximum(counts * (1.0 - self.mean), 0.0)

    def _add(self, block: Block, codes: Ints, w: Floats) -> None:
        from separatrix.statistics.loops import add_by_class

        shift = np.zeros_like(self.mean)
        first, second = np.zeros_like(shift), np.zeros_like(shift)
        shifted = np.zeros(len(shift), dtype=bool)
        # Numbers in a chunk of rows that stays in cache.
        step = max(256, 100_000 // max(1, len(block.terms)))
        for start in range(0, block.n, step):
            x, part = with_missing(block, start, start + step), codes[start : start + step]
            if not shifted.all():
                _set_shift(shift, shifted, x, part)
            add_by_class(x, part, w[start : start + step], shift, self.observed, first, second)
        if not np.isfinite(first).all():
            raise not_finite(block, first.sum(axis=0))
        safe = np.where(self.observed > 0, self.observed, 1.0)
        self.mean = shift + first / safe
        self.scatter = np.maximum(second - first**2 / safe, 0.0)

    def __add__(self, other: Self) -> Self:
        terms, targets = self.terms.union(other.terms), self.targets.union(other.targets)
        if not other.weight.any():
            return self.aligned(terms, targets)
        if not self.weight.any():
            return other.aligned(terms, targets)
        a, b = self.aligned(terms, targets), other.aligned(terms, targets)
        observed = a.observed + b.observed
        fraction = b.observed / np.where(observed > 0, observed, 1.0)
        step = b.mean - a.mean
        return type(self)(
            terms,
            targets,
            a.weight + b.weight,
            observed,
            a.mean + fraction * step,
            a.scatter + b.scatter + a.observed * fraction * step**2,
        )

    def beside(self, other: Self) -> Self:
        """Moments of the same rows over the columns of both."""
        terms = Terms((*self.terms, *other.terms))
        other = other.aligned(other.terms, self.targets)
        pairs = ((self.observed, other.observed), (self.mean, other.mean))
        joined = [np.hstack(pair) for pair in (*pairs, (self.scatter, other.scatter))]
        return type(self)(terms, self.targets, self.weight, *joined)

    def aligned(self, terms: Terms, targets: Terms) -> Self:
        """Over the given terms and classes: a new level was absent in every row with a value.

        A class without rows has weight zero.
        """
        if terms.items == self.terms.items and targets.items == self.targets.items:
            return self
        to = np.array([targets.position[t] for t in self.targets], dtype=np.int64)
        out = type(self)(terms, targets)
        out.weight[to] = self.weight
        at = np.array([self.terms.position.get(term, -1) for term in terms], dtype=np.int64)
        known = np.flatnonzero(at >= 0)
        place = np.ix_(to, known)
        out.observed[place] = self.observed[:, at[known]]
        out.mean[place], out.scatter[place] = self.mean[:, at[known]], self.scatter[:, at[known]]
        for j in np.flatnonzero(at < 0):
            out.observed[to, j] = self.weight - self._missing(terms.items[j])
        return out

    def _missing(self, term: Term) -> Floats:
        """The weight of rows with a missing value in the column of a term."""
        at = self.terms.position.get(Term(term.column, missing=True))
        return np.zeros_like(self.weight) if term.missing or at is None else self.counts[:, at]

    @property
    def counts(self) -> Floats:
        """Σ w x: the weighted count of each level."""
        return self.observed * self.mean


def with_missing(block: Block, start: int = 0, stop: int | None = None) -> Floats:
    """Rows of a raw block with NaN where a value is missing, in place of its stand-in."""
    x = np.ascontiguousarray(block.dense(start, stop))
    indicators = [(j, term.column) for j, term in enumerate(block.terms) if term.missing]
    if indicators:
        x = x.copy()
    for j, column in indicators:
        missing = np.flatnonzero(x[:, j] > 0)
        if missing.size:
            present = [i for i, t in enumerate(block.terms) if t.column == column and not t.missing]
            x[missing[:, None], present] = np.nan
    return np.asarray(x, dtype=float)


def _set_shift(shift: Floats, shifted: NDArray[np.bool_], x: Floats, codes: Ints) -> None:
    """A provisional center for classes without one: the mean of their first rows."""
    for k in np.unique(codes[~shifted[codes]]):
        rows = x[np.flatnonzero(codes == k)[:64]]
        present = np.isfinite(rows)
        total = np.where(present, rows, 0.0).sum(axis=0)
        shift[k] = total / np.maximum(present.sum(axis=0), 1)
        shifted[k] = True
