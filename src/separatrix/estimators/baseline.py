"""Baselines that ignore the features: the mean of the target, or its most frequent class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.estimators import base
from separatrix.formula import nodes
from separatrix.mixins import ClassifierMixin, RegressorMixin
from separatrix.optimize.convex import Certificate, Solution
from separatrix.parameters import describe_parameters
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Block, Term, identity
from separatrix.statistics.moments import Moments, prepare
from separatrix.threads import on_one_blas_thread


class MeanRegressor(RegressorMixin, base.MomentEstimator):
    """Baseline regressor: predicts the mean of the training targets.

        min over a of Σ w (y − a)²

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (k, d)
        Zero.
    intercept_ : float or ndarray of shape (k,)
        The mean of the target.
    certificate_ : Certificate
        States that this is a closed form.

    See Also
    --------
    MostFrequentClassifier : The baseline for classes.
    LinearRegression : Least squares on the features.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.MeanRegressor().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 6.0]).predict([[5.0]])
    array([3.])
    """

    def _solve(self, data: base.TrainingData) -> Solution:
        source = data.source
        if isinstance(source, Moments):
            return _mean(source, source.d)
        return _mean(_targets(source), source.x.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # it ignores the features
        return tags


def _targets(block: Block) -> Moments:
    """The moments of the targets alone."""
    x = np.empty((block.n, 0))
    return ArrayRows(x, block.y, block.w, targets=block.targets.items).reduce(Moments())


def _mean(m: Moments, d: int) -> Solution:
    certificate = Certificate(
        "The mean: no constant prediction has a smaller sum of squares",
        rank=0,
        promised=(),
    )
    return Solution(np.zeros((d, len(m.targets))), m.y_mean.copy(), certificate)


@describe_parameters
class MostFrequentClassifier(ClassifierMixin, base.RowsEstimator):
    """Baseline classifier: predicts the most frequent class of the training rows.

        argmax over k of P(class k),     weights counted as repeated rows

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    class_prior_ : ndarray of shape (K,)
        The proportion of each class.
    certificate_ : Certificate
        States that this is a closed form.

    See Also
    --------
    MeanRegressor : The baseline for numeric targets.
    NearestMean : Looks at the class means.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.MostFrequentClassifier().fit([[0], [1], [2]], ["a", "b", "b"])
    >>> model.predict([[0]]).tolist(), model.class_prior_.round(2).tolist()
    (['b'], [0.33, 0.67])
    """

    _any_size = True

    @base.reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows` with a discrete target."""
        base.refuse_missing_labels(y)
        labels: list[Any] = []

        def indicators(values: Any) -> tuple[Floats, list[Term]]:
            base.check_labels(values)
            label, codes = np.unique(values, return_inverse=True)
            labels.append(label)
            return np.eye(len(label))[codes], [Term("y", level=str(v)) for v in label]

        rows = self._training_rows(X, y, sample_weight, encode_target=indicators)
        if isinstance(rows, ArrayRows):  # nothing to encode, and columns do not matter
            m, encoding = _targets(rows.block), identity(rows.schema)
        else:
            prepared = prepare(rows)
            m, encoding = prepared.moments, prepared.encoding
        levels = [str(term.level) for term in m.targets]
        label = labels[0] if labels else base.labels_in_order(rows.schema.targets[0], levels)
        order = np.argsort(label)
        self.classes_, self.class_prior_ = label[order], m.y_mean[order]
        self.encoding_ = encoding
        self.certificate_ = Certificate(
            "The most frequent class: no constant prediction has fewer errors",
            promised=(),
        )
        return self

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """The proportion of each class; for two classes, that of the second minus the first."""
        n, prior = self._design(X).shape[0], self.class_prior_
        if len(prior) == 2:
            return np.full(n, prior[1] - prior[0])
        return np.tile(prior, (n, 1))

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Floats:
        """The proportions of the classes, for every row."""
        n = self._design(X).shape[0]
        return np.tile(self.class_prior_, (n, 1))

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The same class for every row."""
        n = self._design(X).shape[0]
        return np.asarray(np.repeat(self.classes_[[np.argmax(self.class_prior_)]], n))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # it ignores the features
        return tags

    def formula(self) -> nodes.ClassFormula:
        """The same proportions for every row."""
        prior, names = self.class_prior_, nodes.probability_names(self.classes_)
        p = nodes.Constants(nodes.design_of(self), np.asarray(prior, dtype=float), names=names)
        scores = nodes.difference(p, ["score"]) if len(prior) == 2 else p
        return nodes.by_probability(p, self.classes_, scores)
