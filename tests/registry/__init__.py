"""Every estimator once, one module for each family. A row enters it into every law.

``make`` builds the estimator with settings that suit small data. The other fields say which laws
hold only by definition of the model (an orthogonal distance has units, say).
"""

from __future__ import annotations

from separatrix.optimize.convex import EpsilonInsensitive, Huber, Squared, SquaredEpsilonInsensitive
from tests.registry import (
    additive,
    bayes,
    discriminant,
    estimators,
    hypotheses,
    kernel_machines,
    linear,
    logistic,
    neighbors,
    perceptron,
    probability,
    recursive_feature_machines,
    svm,
)
from tests.registry.cluster import CLUSTERERS, HIERARCHIES
from tests.registry.kernels import KERNELS
from tests.registry.linear import INTERPOLATIONS
from tests.registry.metric_learning import METRIC_LEARNERS
from tests.registry.row import Row

__all__ = [
    "CLUSTERERS", "HIERARCHIES", "INTERPOLATIONS", "KERNELS", "LOSSES", "METRIC_LEARNERS",
    "REGISTRY", "Row",
]  # fmt: skip

_FAMILIES = (
    linear, additive, discriminant, logistic, perceptron, neighbors, svm, estimators, probability,
    bayes, hypotheses, kernel_machines, recursive_feature_machines,
)  # fmt: skip
REGISTRY: list[Row] = [row for family in _FAMILIES for row in family.ROWS]

#: Losses: finite differences and the Fenchel–Young inequality are required of each.
LOSSES = [
    Squared(),
    Huber(1.35),
    Huber(0.2),
    EpsilonInsensitive(0.5),
    EpsilonInsensitive(0.0),
    SquaredEpsilonInsensitive(0.3),
]
