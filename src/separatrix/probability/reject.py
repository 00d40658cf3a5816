"""Any classifier with the right to doubt: the cheapest answer, given what errors and doubt cost."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.targets import known_codes
from separatrix.estimators.wrapped import WrappedClassifier, fitted, joint_certificate, labelled
from separatrix.messages import InputError
from separatrix.probability.costs import Costs, costs_of
from separatrix.probability.coverage import CoverageRisk, coverage_risk
from separatrix.probability.reject_label import answers
from separatrix.rows.block import Floats


class RejectOption(WrappedClassifier):
    """answer = argmin over j of Σᵢ pᵢ cost[i, j], with doubt as one of the answers.

    The rule is optimal where the probabilities are true, so calibrate first: a
    :class:`~separatrix.CalibratedClassifier` makes probabilities of any scores.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``.
    costs : number, matrix or mapping, default=0.2
        A number is the price of doubt where every error costs 1: doubt when the largest
        probability is below 1 − price. A K x K matrix holds the cost of each answer (column) for
        each true class (row); a further column prices doubt. ``{truth: {answer: cost}}`` names
        what differs from 0 for right and 1 for wrong, with ``reject_label`` as an answer.
    reject_label : default="reject"
        What ``predict`` answers in doubt. A number keeps predictions of numeric classes numeric.

    Attributes
    ----------
    classes_ : the classes of the estimator, the columns of ``predict_proba``.
    answers_ : the classes and doubt.
    costs_ : ``matrix`` (K x K) and ``price`` (K), None where doubt has no price.
    """

    costs_: Costs
    answers_: NDArray[Any]

    def __init__(self, estimator: Any, *, costs: Any = 0.2, reject_label: Any = "reject") -> None:
        self.estimator = estimator
        self.costs = costs
        self.reject_label = reject_label

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        if not hasattr(self.estimator, "predict_proba"):
            raise InputError(
                f"{type(self.estimator).__name__} gives no probabilities to weigh costs by.",
                remedy="Wrap it: RejectOption(CalibratedClassifier(…)).",
            )
        return self.around(fitted(self.estimator, labelled(self, X, y, sample_weight)))

    def around(self, model: Any) -> Self:
        """Take a fitted classifier as it is: costs need no rows."""
        self._adopt(model)
        self.costs_ = costs_of(self.costs, self.classes_, self.reject_label)
        self.answers_ = answers(self.classes_, self.reject_label)
        self.certificate_ = joint_certificate(
            "The answer of least expected cost: optimal where the probabilities are true",
            [self.estimator_],
        )
        return self

    def predict_proba(self, X: Any) -> Floats:
        """The probabilities of the estimator."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X), dtype=float)

    def predict(self, X: Any) -> NDArray[Any]:
        """The cheapest answer for every row: a class, or doubt where that is cheaper."""
        p = self.predict_proba(X)
        chosen = self.costs_.decide(p)
        return np.asarray(self.answers_[chosen])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows that were answered, and rightly: doubt counts as no right answer."""
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))

    def mean_cost(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """What the answers cost on these rows, on average; classes not trained on are refused."""
        p = self.predict_proba(X)
        chosen, truth = self.costs_.decide(p), known_codes(y, self.classes_)
        prices = np.zeros(len(self.classes_)) if self.costs_.price is None else self.costs_.price
        paid = np.column_stack([self.costs_.matrix, prices])[truth, chosen]
        return float(np.average(paid, weights=sample_weight))

    def coverage_risk(self, X: Any, y: Any, sample_weight: Any = None) -> CoverageRisk:
        """Cost of the answers against the share of rows answered, surest rows first.

        Doubt is measured by the expected cost of the best class; whatever its price, the rule
        takes one point of this curve where one price holds for all classes.
        """
        p = self.predict_proba(X)
        expected = self.costs_.expected(p)
        paid = self.costs_.matrix[known_codes(y, self.classes_), expected.argmin(axis=1)]
        return coverage_risk(expected.min(axis=1), paid, sample_weight=sample_weight)
