"""Naive Bayes: numbers, yes/no columns and levels, independent of each other within a class."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix.discriminant.class_columns import ClassColumns, with_missing
from separatrix.discriminant.independent_columns import IndependentColumns
from separatrix.discriminant.level_lookup import looked_up
from separatrix.estimators.class_labels import ClassLabels
from separatrix.geometry.class_scores import log_softmax, softmax
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Block, Floats
from separatrix.rows.categorical import OneHotColumns, with_kinds
from separatrix.rows.mapped import EncodedRows, MappedStatistic
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Kind, Schema, Term, Terms
from separatrix.statistics.estimation import check_method, estimate_normal, estimate_proportions
from separatrix.threads import one_blas_thread

EPS = float(np.finfo(float).eps)
#: No class may vary less in a column than this share of the variance within all classes.
FLOOR = 1e-9
#: Numbers of a piece of rows that is scored at once.
PIECE = 1_000_000


class NaiveBayes(ClassifierMixin, ClassLabels):
    """p(k | x) ∝ πₖ Πⱼ p(xⱼ | k): normal, Bernoulli or categorical, as the column is.

    Numbers are normal with a mean and variance per class, yes/no columns have a probability per
    class, discrete ones a probability per level: (N + s)/(n + sL) with s = ``smoothing``. A missing
    value has no factor, in training and later. One pass over the rows, whatever the number of them.

    Parameters
    ----------
    smoothing : float, default=1.0
        What is added to every count (Laplace). With 0 a level that a class never had rules the
        class out; where every class is ruled out, those stay that the fewest values speak against.
    estimation : {"ml", "map", "bayes"}, default="ml"
        Means and variances of numbers: by maximum likelihood; or as the mode or the mean of the
        posterior, with a prior that is worth ``smoothing`` rows with the column's overall mean and
        its variance within classes.
    priors : array of K shares, optional
        πₖ in the order of ``classes_``; else the shares of the training rows.
    kinds : str, list or mapping, optional
        For a matrix: which columns are "numeric", "boolean" (0 and 1) or "discrete"; one word for
        all, a list, or a mapping from name or position. Numeric unless said. A table has its own.

    Attributes
    ----------
    theta_, var_ : (K, numeric columns), means and variances by class.
    class_prior_, class_weight_ : the shares πₖ, and the weight of the rows of each class.
    density_ : the densities of the classes as a shape.
    columns_ : the sums that all follows from; they add up over tables.
    schema_, table_ : the columns, and whether they came as a table with names.
    """

    _missing_ok = True
    columns_: ClassColumns

    def __init__(
        self,
        smoothing: float = 1.0,
        *,
        estimation: str = "ml",
        priors: Any = None,
        kinds: str | list[str] | Mapping[Any, str] | None = None,
    ) -> None:
        self.smoothing = smoothing
        self.estimation = estimation
        self.priors = priors
        self.kinds = kinds

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._check()
        if isinstance(X, Rows):
            return self._fit_table(X, y, sample_weight)
        rows = self._coded_rows(X, y, sample_weight)
        self.table_ = False
        schema = with_kinds(rows.schema, self.kinds)
        return self._learn(self._reduced(rows, schema), schema)

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows given before; ``classes`` lists what may come."""
        self._check()
        if isinstance(X, Rows):
            raise InputError(
                "partial_fit takes numeric X and labels y.", remedy="Call fit for a table."
            )
        first = not hasattr(self, "columns_")
        known = self._known_classes(classes)
        rows = self._coded_rows(X, y, sample_weight, known=known, reset=first)
        self.table_ = False
        schema = with_kinds(rows.schema, self.kinds)
        columns = self._reduced(rows, schema)
        return self._learn(columns if first else self.columns_ + columns, schema)

    def _fit_table(self, X: Rows, y: Any, sample_weight: Any) -> Self:
        if self.kinds is not None:
            raise InputError(
                "A table has kinds of its own.", remedy="Give them to scan(…, kinds={…})."
            )
        rows = self._class_rows(X, y, sample_weight)
        raw = rows.rows if isinstance(rows, EncodedRows) else rows
        self.table_ = not isinstance(raw, ArrayRows)
        found = raw.reduce(ClassColumns())
        met = Terms(tuple(t for t, w in zip(found.targets, found.weight, strict=True) if w > 0))
        terms = self._class_terms(rows, met)
        found = found.aligned(found.terms, found.targets.union(terms))
        at = [found.targets.position[term] for term in terms]
        parts = (found.weight, found.seen, found.mean, found.scatter)
        return self._learn(ClassColumns(found.terms, terms, *(p[at] for p in parts)), raw.schema)

    def _check(self) -> None:
        check_method(self.estimation)
        if not (np.isfinite(self.smoothing) and self.smoothing >= 0):
            raise InputError(
                f"smoothing={self.smoothing!r} is no count.", remedy="Use zero or more."
            )

    def _reduced(self, rows: ArrayRows, schema: Schema) -> ClassColumns:
        counted = ClassColumns(targets=Terms(tuple(self._terms())))
        levelled = OneHotColumns(schema)
        if levelled.is_identity:
            return rows.reduce(counted)
        return rows.reduce(MappedStatistic(counted, levelled)).inner

    # -- from sums to densities ----------------------------------------------------------------

    def _learn(self, columns: ClassColumns, schema: Schema) -> Self:
        terms = Terms(tuple(self._terms(columns.targets.items[0].column)))
        self.columns_ = columns = columns.aligned(columns.terms, terms)
        self.class_weight_ = columns.weight
        self.class_prior_ = self._priors(columns.weight)
        met = {t for t, n in zip(columns.terms, columns.counts.sum(axis=0), strict=True) if n > 0}
        levels = {c.name: {t.level for t in met if t.column == c.name} for c in schema.columns}
        self.schema_ = replace(
            schema,
            columns=tuple(
                replace(c, levels=tuple(sorted({*c.levels, *filter(None, levels[c.name])})))
                if c.kind is Kind.DISCRETE
                else c
                for c in schema.columns
            ),
        )
        self.density_, raised = self._density(columns)
        self.theta_, self.var_ = self.density_.mean, self.density_.variance
        self.certificate_ = self._certificate(raised)
        return self

    def _priors(self, weight: Floats) -> Floats:
        if self.priors is None:
            return np.asarray(weight / weight.sum())
        given = np.asarray(self.priors, dtype=float)
        if given.shape != weight.shape:
            raise InputError(f"priors has {given.size} entries for {len(weight)} classes.")
        if not (given >= 0).all() or abs(given.sum() - 1.0) > 1e-9:
            raise InputError("priors must not be negative and must add up to one.")
        return given

    def _density(self, columns: ClassColumns) -> tuple[IndependentColumns, list[str]]:
        by_kind: dict[Kind, list[Term]] = {kind: [] for kind in Kind}
        shares = []
        for column in self.schema_.columns:
            own = [Term(column.name)]
            if column.kind is Kind.DISCRETE:
                own = [Term(column.name, level) for level in column.levels]
            by_kind[column.kind] += own
        numeric = Terms(tuple(by_kind[Kind.NUMERIC]))
        mean, variance, raised = self._normals(columns.aligned(numeric, columns.targets))
        yes = columns.aligned(Terms(tuple(by_kind[Kind.BOOLEAN])), columns.targets)
        pair = np.stack([yes.counts, yes.seen - yes.counts], axis=2)
        shares.append(estimate_proportions(np.maximum(pair, 0.0), prior=self.smoothing)[:, :, 0])
        for column in self.schema_.columns:
            if column.kind is Kind.DISCRETE:
                own_terms = Terms(tuple(t for t in by_kind[column.kind] if t.column == column.name))
                counts = columns.aligned(own_terms, columns.targets).counts
                shares.append(estimate_proportions(counts, prior=self.smoothing))
        used = Terms(tuple(t for kind in Kind for t in by_kind[kind]))
        yes_no = len(by_kind[Kind.BOOLEAN])
        stacked = np.concatenate(shares, axis=1)
        return IndependentColumns(used, yes_no, mean, variance, stacked), raised

    def _normals(self, c: ClassColumns) -> tuple[Floats, Floats, list[str]]:
        """Means and variances by class; columns that never vary get an infinite variance.

        A class that does not vary is given a sliver of the variance within classes (of the whole
        column, where no class varies), which has the column's own units.
        """
        n = c.seen.sum(axis=0)
        safe = np.where(n > 0, n, 1.0)
        centre = (c.counts.sum(axis=0)) / safe
        within = c.scatter.sum(axis=0) / safe
        whole = within + (c.seen * (c.mean - centre) ** 2).sum(axis=0) / safe
        varies = np.sqrt(whole) > 4 * EPS * np.abs(centre)
        mean, variance = estimate_normal(
            c.seen,
            c.mean,
            c.scatter,
            prior_mean=centre,
            prior_variance=within,
            prior_count=self.smoothing,
            method=self.estimation,
        )
        unknown = c.seen == 0
        mean = np.where(unknown, centre, mean)
        variance = np.where(unknown, whole, variance)
        rounding = (16 * EPS) ** 2 * (whole + centre**2)
        floor = FLOOR * np.where(within > rounding, within, whole)
        low = varies & (variance < floor)
        variance = np.where(varies, np.maximum(variance, floor), np.inf)
        names = [str(term) for term in c.terms]
        return mean, variance, [names[j] for j in np.flatnonzero(low.any(axis=0))]

    def _certificate(self, raised: list[str]) -> Certificate:
        how = {
            "ml": "most likely for these rows",
            "map": "at the mode of the posterior",
            "bayes": "the mean of the posterior",
        }[self.estimation]
        notes = ["Probabilities are as good as the columns are independent within classes."]
        if len(self.density_.terms) > self.theta_.shape[1]:
            notes.append(f"Counts are raised by {self.smoothing:g} each.")
        flat = np.isinf(self.var_).all(axis=0).sum()
        if flat:
            notes.append(f"Columns that never vary and tell nothing: {flat}.")
        if raised:
            shown = ", ".join(raised[:5]) + (" …" if len(raised) > 5 else "")
            notes.append(f"A class is constant in {shown}: given a sliver of the variance there.")
        claim = f"Naive Bayes, closed form: means and variances by class are {how}"
        return Certificate(
            claim,
            notes=tuple(notes),
            promised=(),
        )

    # -- new rows ------------------------------------------------------------------------------

    def _joint(self, X: Any) -> Floats:
        """log πₖ + log p(x | k)."""
        check_is_fitted(self)
        block = self._raw(X)
        step = max(64, PIECE // max(1, len(self.density_.terms)))
        pieces = [block.take(slice(i, i + step)) for i in range(0, max(block.n, 1), step)]
        if len(pieces) == 1:
            return self._scored(pieces[0])
        with one_blas_thread(), ThreadPoolExecutor(os.cpu_count()) as pool:
            return np.concatenate(list(pool.map(self._scored, pieces)))

    def _raw(self, X: Any) -> Block:
        if self.table_:
            from separatrix.rows.scan import rows_like

            return rows_like(X, self.schema_).collect()
        if isinstance(X, Rows):
            X = X.collect().x
        x = validate_data(
            self,
            X,
            reset=False,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_all_finite="allow-nan",
        )
        terms = Terms(tuple(Term(name) for name in self.schema_.names))
        x = sparse.csr_array(x) if sparse.issparse(x) else x
        return Block(x, np.empty((x.shape[0], 0)), None, terms, Terms(()))

    def _scored(self, block: Block) -> Floats:
        found = None if self.table_ else looked_up(self.density_, self.schema_, block)
        scores = self._by_indicators(block) if found is None else found
        with np.errstate(divide="ignore"):
            prior = np.log(self.class_prior_)
        scores += prior
        lost = np.isneginf(scores).all(axis=1)
        scores[lost] = prior  # no class could have such a row: only the shares are left
        return scores

    def _by_indicators(self, block: Block) -> Floats:
        """log p(x | k) from one number for each level."""
        if not self.table_:
            block = OneHotColumns(self.schema_).apply(block)
        x, wanted = with_missing(block), self.density_.terms
        if block.terms.items != wanted.items:
            whole = np.zeros((len(x), len(wanted)))
            for j, term in enumerate(wanted):
                at = block.terms.position.get(term)
                if at is not None:
                    whole[:, j] = x[:, at]
            x = whole
        return self.density_.scores(x)

    def predict_log_proba(self, X: Any) -> Floats:
        """log p(k | x)."""
        return log_softmax(self._joint(X))

    def predict_proba(self, X: Any) -> Floats:
        """p(k | x); every row adds up to one."""
        return softmax(self._joint(X))

    def decision_function(self, X: Any) -> Floats:
        """Two classes: log p(1 | x)/p(0 | x). More: log p(k | x)."""
        joint = self._joint(X)
        return joint[:, 1] - joint[:, 0] if len(self.classes_) == 2 else log_softmax(joint)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])
