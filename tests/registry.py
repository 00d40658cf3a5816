"""Every estimator once. A row here enters it into every law in ``tests/laws``.

``make`` builds it with settings that suit small data. The other fields say which laws hold only
by definition of the model (an orthogonal distance has units, say) and must be judged otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import separatrix as sx
from separatrix.estimators import baseline
from separatrix.kernels import Kernel
from separatrix.optimize.losses import EpsilonInsensitive, Huber, Squared


@dataclass(frozen=True)
class Row:
    """One estimator under test."""

    name: str
    make: Callable[[], Any]
    task: str = "regression"
    #: Multiplying a feature by 10⁸ changes nothing but its coefficient.
    unit_free: bool = True
    #: Reads Rows in blocks through a statistic, so the block size must not matter.
    additive: bool = True
    #: Adding a constant to a feature changes only the intercept.
    shift_free: bool = True
    #: The order of rows is irrelevant (not so with contiguous folds).
    order_free: bool = True
    #: Looks at the features (a baseline does not).
    learns: bool = True
    #: NaN is a value that is missing, not an error.
    gaps: bool = False
    #: Relative agreement asked of refits (row order, repeats, units).
    precision: float = 1e-7
    #: (model, coef, intercept, x, y) → the objective that ``certificate_.primal`` states.
    objective: Callable[..., float] | None = None


def squares(_model: Any, coef: Any, intercept: float, x: Any, y: Any) -> float:
    """½ Σ (y − a − b·x)²."""
    return 0.5 * float(np.sum((y - x @ coef - intercept) ** 2))


def shrunk_squares(model: Any, coef: Any, intercept: float, x: Any, y: Any) -> float:
    """½ Σ (y − a − b·x)² + ½ α Σ (s b)², with s the deviation of a column if standardised."""
    alpha = getattr(model, "alpha_", None) or model.alpha
    scale = x.std(axis=0) if model.standardize else 1.0
    return squares(model, coef, intercept, x, y) + 0.5 * alpha * float(np.sum((coef * scale) ** 2))


def huber(model: Any, coef: Any, intercept: float, x: Any, y: Any) -> float:
    """Σ (σ + σ·H(r/σ)) + α‖b‖² with the scale that was found."""
    z = np.abs(y - x @ coef - intercept) / model.scale_
    h = np.where(z <= model.epsilon, z**2, 2 * model.epsilon * z - model.epsilon**2)
    return float(np.sum(model.scale_ * (1 + h)) + model.alpha * np.sum(coef**2))


def outside_tube(model: Any, coef: Any, intercept: float, x: Any, y: Any) -> float:
    """Σ max(0, |y − a − b·x| − ε)."""
    return float(np.sum(np.maximum(np.abs(y - x @ coef - intercept) - model.epsilon, 0.0)))


def tube(model: Any, coef: Any, intercept: float, x: Any, y: Any) -> float:
    """½‖b‖² + C Σ max(0, |y − a − b·x| − ε)."""
    return 0.5 * float(coef @ coef) + model.C * outside_tube(model, coef, intercept, x, y)


def orthogonal(_model: Any, coef: Any, intercept: float, x: Any, y: Any) -> float:
    """Σ (y − a − b·x)² / (1 + ‖b‖²)."""
    return float(np.sum((y - x @ coef - intercept) ** 2) / (1 + np.sum(coef**2)))


def squares_of_polynomial(model: Any, coef: Any, intercept: float, x: Any, y: Any) -> float:
    """½ Σ (y − a − Σ b·x^e)², from the powers themselves."""
    return squares(model, coef, intercept, np.prod(x[:, None, :] ** model.exponents_, axis=2), y)


def elastic_net(model: Any, coef: Any, intercept: float, x: Any, y: Any) -> float:
    """(1/2n) Σ (y − a − b·x)² + α ρ Σ v|b| + ½ α (1 − ρ) Σ (v b)², v a deviation or 1."""
    alpha = getattr(model, "alpha_", None) or model.alpha
    b = coef * x.std(axis=0) if model.standardize else coef
    penalty = model.l1_ratio * np.abs(b).sum() + 0.5 * (1 - model.l1_ratio) * np.sum(b**2)
    return float(0.5 * np.mean((y - x @ coef - intercept) ** 2) + alpha * penalty)


def tube_and_length(model: Any, coef: Any, intercept: float, x: Any, y: Any) -> float:
    """½ ‖s w‖² + C Σ max(0, |y − w·x − b| − ε), s the deviation of a column if standardised."""
    scale = x.std(axis=0) if model.standardize else 1.0
    excess = np.maximum(np.abs(y - x @ coef - intercept) - model.epsilon, 0.0)
    return 0.5 * float(np.sum((scale * coef) ** 2)) + model.C * float(np.sum(excess))


#: Losses of a residual: finite differences and the Fenchel–Young inequality are asked of each.
LOSSES = [
    Squared(),
    Huber(1.35),
    Huber(0.2),
    EpsilonInsensitive(0.5),
    EpsilonInsensitive(0.0),
]


@dataclass(frozen=True)
class KernelRow:
    """One kernel expression under test, with a way to draw items for it."""

    kernel: Kernel
    items: Callable[[np.random.Generator, int], Any]
    #: Whether all its Gram matrices are positive semi-definite.
    mercer: bool = True


def rows_of_numbers(rng: np.random.Generator, n: int) -> Any:
    """Rows with an offset, some of them twice."""
    x = rng.standard_normal((n, 3)) + np.array([0.5, -1.0, 2.0])
    x[-1] = x[0]
    return x


def texts(rng: np.random.Generator, n: int) -> list[str]:
    """Short strings over a few letters; one is empty."""
    return ["".join(rng.choice(list("abcd"), rng.integers(0, 9))) for _ in range(n - 1)] + [""]


def sets(rng: np.random.Generator, n: int) -> list[set[int]]:
    """Small sets; the last is empty."""
    return [set(rng.integers(0, 8, rng.integers(1, 6)).tolist()) for _ in range(n - 1)] + [set()]


def tree(rng: np.random.Generator, depth: int = 3) -> Any:
    """A random tree over a few labels."""
    label = str(rng.choice(list("xyz")))
    many = rng.integers(0, 3) if depth else 0
    return (label, *(tree(rng, depth - 1) for _ in range(many))) if many else label


def trees(rng: np.random.Generator, n: int) -> list[Any]:
    """Random trees, some of a single node."""
    return [tree(rng) for _ in range(n)]


def graphs(rng: np.random.Generator, n: int) -> list[Any]:
    """Random graphs with labels on the nodes; the last has no edges."""
    found = []
    for k in range(n):
        size = int(rng.integers(1, 6))
        pairs = [(u, v) for u in range(size) for v in range(u) if rng.random() < 0.5]
        found.append((rng.choice(list("pq"), size).tolist(), pairs if k < n - 1 else []))
    return found


#: Kernels and expressions of kernels.
KERNELS: list[KernelRow] = [
    KernelRow(sx.Linear(), rows_of_numbers),
    KernelRow(sx.Polynomial(2, 0.0), rows_of_numbers),
    KernelRow(sx.Polynomial(3, 1.5, 0.7), rows_of_numbers),
    KernelRow(sx.Polynomial(1), rows_of_numbers),
    KernelRow(sx.Polynomial(3, -1.0), rows_of_numbers, mercer=False),
    KernelRow(sx.Gaussian(1.3), rows_of_numbers),
    KernelRow(sx.Gaussian.from_ab(2.0, 5.0), rows_of_numbers),
    KernelRow(sx.Sigmoid(0.5, -1.0), rows_of_numbers, mercer=False),
    KernelRow(sx.Linear() + sx.Gaussian(0.7), rows_of_numbers),
    KernelRow(sx.Gaussian(2.0) + 0.5 * sx.Gaussian(0.4), rows_of_numbers),
    KernelRow(sx.Polynomial(2) * sx.Gaussian(1.1) * sx.Linear(), rows_of_numbers),
    KernelRow((0.1 * sx.Linear()).exp(), rows_of_numbers),
    KernelRow((sx.Gaussian(1.0) + sx.Polynomial(2)).normalized(), rows_of_numbers),
    KernelRow(sx.Polynomial(2).normalized().exp() * (2.0 * sx.Gaussian(3.0)), rows_of_numbers),
    KernelRow(sx.Spectrum(2), texts),
    KernelRow(sx.Subsequence(2, 0.6), texts),
    KernelRow(sx.Subsequence(3, 0.9).normalized(), texts),
    KernelRow(sx.Spectrum(1).normalized() + 0.5 * sx.Subsequence(1, 0.5), texts),
    KernelRow(sx.SetKernel(), sets),
    KernelRow(sx.SetKernel().normalized(), sets),
    KernelRow(sx.Jaccard(), sets),
    KernelRow((0.3 * sx.SetKernel()).exp(), sets),
    KernelRow(sx.TreeKernel(0.7), trees),
    KernelRow(sx.TreeKernel(0.4).normalized(), trees),
    KernelRow(sx.SubtreeKernel(0.9), trees),
    KernelRow(sx.GraphKernel(2), graphs),
    KernelRow(sx.GraphKernel(0).normalized() * sx.GraphKernel(1), graphs),
]

REGISTRY: list[Row] = [
    Row("LinearRegression", lambda: sx.LinearRegression(), objective=squares),
    Row(
        "LinearRegression without intercept",
        lambda: sx.LinearRegression(fit_intercept=False),
        objective=squares,
    ),
    Row("Ridge", lambda: sx.Ridge(), unit_free=False, objective=shrunk_squares),
    Row("Ridge, standardised", lambda: sx.Ridge(2.0, standardize=True), objective=shrunk_squares),
    Row(
        "RidgePath, standardised",
        lambda: sx.RidgePath(20, standardize=True),
        objective=shrunk_squares,
    ),
    Row(
        "RidgeCV, standardised", lambda: sx.RidgeCV(20, standardize=True), objective=shrunk_squares
    ),
    Row(
        "RidgeCV by folds",
        lambda: sx.RidgeCV([0.1, 1.0, 10.0], cv=3),
        unit_free=False,
        order_free=False,
        objective=shrunk_squares,
    ),
    Row("HuberRegressor", lambda: sx.HuberRegressor(), unit_free=False, objective=huber),
    Row("HuberRegressor without penalty", lambda: sx.HuberRegressor(alpha=0.0), objective=huber),
    Row(
        "LeastAbsoluteRegressor",
        lambda: sx.LeastAbsoluteRegressor(),
        additive=False,
        objective=outside_tube,
    ),
    Row(
        "LeastAbsoluteRegressor with a tube",
        lambda: sx.LeastAbsoluteRegressor(epsilon=0.2),
        additive=False,
        objective=outside_tube,
    ),
    Row("TotalLeastSquares", lambda: sx.TotalLeastSquares(), unit_free=False, objective=orthogonal),
    Row(
        "PolynomialRegression",
        lambda: sx.PolynomialRegression(2),
        unit_free=False,  # a power's coefficient changes by the power of the unit: tested by itself
        objective=squares_of_polynomial,
    ),
    Row("LeastSquaresClassifier", lambda: sx.LeastSquaresClassifier(), "classification"),
    Row(
        "BasicLinearClassifier",
        lambda: sx.BasicLinearClassifier(),
        "classification",
        unit_free=False,
    ),
    Row(
        "BasicLinearClassifier, diagonal",
        lambda: sx.BasicLinearClassifier(scatter="diagonal"),
        "classification",
    ),
    Row(
        "BasicLinearClassifier, pooled",
        lambda: sx.BasicLinearClassifier(scatter="pooled"),
        "classification",
    ),
    Row(
        "BasicLinearClassifier, total with prevalence",
        lambda: sx.BasicLinearClassifier(scatter="total", prevalence=True),
        "classification",
        shift_free=False,
    ),
    Row("GaussianDiscriminant", lambda: sx.GaussianDiscriminant(), "classification"),
    Row(
        "GaussianDiscriminant, mixed",
        lambda: sx.GaussianDiscriminant(alpha=0.2, beta=0.3),
        "classification",
    ),
    Row(
        "GaussianDiscriminant, diagonal",
        lambda: sx.GaussianDiscriminant("diagonal"),
        "classification",
    ),
    Row(
        "GaussianDiscriminant, shared diagonal",
        lambda: sx.GaussianDiscriminant("shared_diagonal", alpha=0.1),
        "classification",
    ),
    Row(
        "GaussianDiscriminant, spherical",
        lambda: sx.GaussianDiscriminant("spherical"),
        "classification",
        unit_free=False,
    ),
    Row(
        "QuadraticDiscriminantAnalysis",
        lambda: sx.QuadraticDiscriminantAnalysis(),
        "classification",
    ),
    Row("LinearDiscriminantAnalysis", lambda: sx.LinearDiscriminantAnalysis(), "classification"),
    Row("GaussianNB", lambda: sx.GaussianNB(), "classification"),
    Row(
        "RegularizedDiscriminantAnalysis",
        lambda: sx.RegularizedDiscriminantAnalysis(4, 4, cv=3),
        "classification",
        order_free=False,
    ),
    Row("NearestMean", lambda: sx.NearestMean(), "classification", unit_free=False),
    Row("NaiveBayes", lambda: sx.NaiveBayes(), "classification", gaps=True),
    Row(
        "NaiveBayes, Bayes", lambda: sx.NaiveBayes(estimation="bayes"), "classification", gaps=True
    ),
    Row(
        "SigmoidRegressionClassifier",
        lambda: sx.SigmoidRegressionClassifier(),
        "classification",
        additive=False,
        precision=1e-6,
    ),
    Row(
        "GradientDescent",
        lambda: sx.GradientDescent(),
        "classification",
        additive=False,
        precision=1e-6,
    ),
    Row("Lasso", lambda: sx.Lasso(0.1), unit_free=False, objective=elastic_net),
    Row("Lasso, standardised", lambda: sx.Lasso(0.1, standardize=True), objective=elastic_net),
    Row(
        "ElasticNet, standardised",
        lambda: sx.ElasticNet(0.1, standardize=True),
        objective=elastic_net,
    ),
    Row(
        "LassoPath, standardised",
        lambda: sx.LassoPath(20, standardize=True, tol=1e-10),
        objective=elastic_net,
    ),
    Row(
        "LassoCV, standardised",
        lambda: sx.LassoCV(alphas=20, cv=3, standardize=True, tol=1e-10),
        order_free=False,
        objective=elastic_net,
    ),
    Row("LogisticRegression", lambda: sx.LogisticRegression(), "classification"),
    Row(
        "LogisticRegression, standardised",
        lambda: sx.LogisticRegression(1.0, standardize=True),
        "classification",
    ),
    Row(
        "LogisticRegression, standardised, selecting",
        lambda: sx.LogisticRegression(0.5, 0.7, standardize=True),
        "classification",
    ),
    Row(
        "LogisticPath, standardised",
        lambda: sx.LogisticPath(6, eps=1e-2, standardize=True),
        "classification",
    ),
    Row(
        "LogisticCV, standardised, selecting",
        lambda: sx.LogisticCV(5, l1_ratio=1.0, eps=1e-2, cv=3, standardize=True),
        "classification",
        order_free=False,
    ),
    Row(
        "Perceptron",
        lambda: sx.Perceptron(),
        "classification",
        unit_free=False,
        additive=False,
        order_free=False,
    ),
    Row(
        "Perceptron, standardised, shuffled, averaged",
        lambda: sx.Perceptron(
            order="shuffled", average=True, standardize=True, max_epochs=50, random_state=0
        ),
        "classification",
        additive=False,
        shift_free=False,
        order_free=False,
    ),
    Row(
        "Perceptron with a pocket, from the means",
        lambda: sx.Perceptron(start="means", pocket=True, max_epochs=50),
        "classification",
        unit_free=False,
        additive=False,
        order_free=False,
    ),
    Row(
        "KernelPerceptron",
        lambda: sx.KernelPerceptron(max_epochs=50),
        "classification",
        unit_free=False,
        additive=False,
        order_free=False,
    ),
    Row("PerceptronRegressor", lambda: sx.PerceptronRegressor(), order_free=False),
    Row(
        "KNeighborsClassifier",
        lambda: sx.KNeighborsClassifier(),
        "classification",
        unit_free=False,
        additive=False,
    ),
    Row(
        "KNeighborsClassifier, standardised, by distance",
        lambda: sx.KNeighborsClassifier(4, weights="distance", standardize=True),
        "classification",
        additive=False,
    ),
    Row(
        "KNeighborsClassifier, standardised, counted",
        lambda: sx.KNeighborsClassifier("auto", standardize=True),
        "classification",
        additive=False,
        order_free=False,  # the number of rows, not of places, bounds the counts that are tried
    ),
    Row(
        "KNeighborsRegressor, standardised",
        lambda: sx.KNeighborsRegressor(weights="gaussian", standardize=True),
        additive=False,
    ),
    Row(
        "KernelVoteClassifier, standardised",
        lambda: sx.KernelVoteClassifier(standardize=True),
        "classification",
        additive=False,
        precision=1e-6,
    ),
    Row("NadarayaWatson", lambda: sx.NadarayaWatson(), unit_free=False, additive=False),
    Row(
        "NadarayaWatson, standardised",
        lambda: sx.NadarayaWatson(0.4, standardize=True),
        additive=False,
    ),
    Row(
        "NearestExemplar, standardised",
        lambda: sx.NearestExemplar(standardize=True),
        "classification",
        additive=False,
    ),
    Row(
        "NearestExemplar, medians",
        lambda: sx.NearestExemplar("manhattan", "median"),
        "classification",
        unit_free=False,
        additive=False,
        precision=1e-6,
    ),
    Row(
        "NearestExemplar, medoids, standardised",
        lambda: sx.NearestExemplar("manhattan", "medoid", standardize=True),
        "classification",
        additive=False,
    ),
    Row("SVC, standardised", lambda: sx.SVC(standardize=True), "classification", additive=False),
    Row(
        "SVC, linear, against the rest",
        lambda: sx.SVC(0.5, "linear", decision="ovr", standardize=True),
        "classification",
        additive=False,
        precision=1e-6,
    ),
    Row(
        "SVC with probabilities",
        lambda: sx.SVC(probability=True),
        "classification",
        unit_free=False,
        additive=False,
        order_free=False,
        precision=1e-6,
    ),
    Row("SVR, standardised", lambda: sx.SVR(100.0, standardize=True), additive=False),
    Row(
        "SVR, linear",
        lambda: sx.SVR(kernel="linear"),
        unit_free=False,
        additive=False,
        precision=1e-6,
        objective=tube,
    ),
    Row("LinearSVC", lambda: sx.LinearSVC(), "classification", unit_free=False, additive=False),
    Row(
        "LinearSVC, standardised",
        lambda: sx.LinearSVC(0.3, standardize=True),
        "classification",
        additive=False,
    ),
    Row(
        "LinearSVC with probabilities",
        lambda: sx.LinearSVC(probability=True),
        "classification",
        unit_free=False,
        additive=False,
        order_free=False,
        precision=1e-6,
    ),
    Row(
        "LinearSVR",
        lambda: sx.LinearSVR(epsilon=0.1),
        unit_free=False,
        additive=False,
        objective=tube_and_length,
    ),
    Row(
        "LinearSVR, standardised",
        lambda: sx.LinearSVR(0.5, standardize=True),
        additive=False,
        objective=tube_and_length,
    ),
    Row(
        "SVMPath",
        lambda: sx.SVMPath(cv=3),
        "classification",
        unit_free=False,
        additive=False,
        order_free=False,
    ),
    Row(
        "SVMPath at one C, Gaussian",
        lambda: sx.SVMPath("rbf", gamma=0.2, C=0.7),
        "classification",
        unit_free=False,
        additive=False,
    ),
    Row(
        "SVCSearch",
        lambda: sx.SVCSearch(cv=2, search_rows=60),
        "classification",
        additive=False,
        order_free=False,
        precision=1e-6,
    ),
    Row(
        "LinearSVCSearch",
        lambda: sx.LinearSVCSearch(cv=2, search_rows=100),
        "classification",
        additive=False,
        order_free=False,
        precision=1e-6,
    ),
    Row(
        "SVRSearch",
        lambda: sx.SVRSearch(cv=2, search_rows=60),
        additive=False,
        order_free=False,
        precision=1e-6,
    ),
    Row("MeanRegressor", lambda: baseline.MeanRegressor(), learns=False),
    Row(
        "MostFrequentClassifier",
        lambda: baseline.MostFrequentClassifier(),
        "classification",
        learns=False,
    ),
    Row(
        "CalibratedClassifier",
        lambda: sx.CalibratedClassifier(sx.LeastSquaresClassifier(), cv=3),
        "classification",
        order_free=False,
        precision=1e-6,
    ),
    Row(
        "CalibratedClassifier, isotonic",
        lambda: sx.CalibratedClassifier(sx.LeastSquaresClassifier(), method="isotonic", cv=3),
        "classification",
        order_free=False,
        precision=1e-6,
    ),
    Row(
        "CalibratedClassifier, platt",
        lambda: sx.CalibratedClassifier(sx.LeastSquaresClassifier(), method="platt", cv=3),
        "classification",
        order_free=False,
        precision=1e-6,
    ),
    Row(
        "RejectOption",
        lambda: sx.RejectOption(sx.LinearDiscriminantAnalysis(), costs=0.7, reject_label=99),
        "classification",
    ),
    Row("OneVsRest", lambda: sx.OneVsRest(sx.LeastSquaresClassifier()), "classification"),
    Row("OneVsOne", lambda: sx.OneVsOne(sx.LeastSquaresClassifier()), "classification"),
    Row(
        "OneVsOne-probabilities",
        lambda: sx.OneVsOne(sx.LogisticRegression(1.0, standardize=True)),
        "classification",
    ),
]

#: Estimators that find groups without a target; their laws are in ``tests/laws/test_clusters.py``.
CLUSTERERS: list[Row] = [
    Row("KMeans", lambda: sx.KMeans(3, random_state=0), "clustering", unit_free=False),
    Row(
        "KMeans, standardised",
        lambda: sx.KMeans(3, standardize=True, random_state=0),
        "clustering",
    ),
    Row(
        "KMeans, random starts",
        lambda: sx.KMeans(3, init="random", random_state=0),
        "clustering",
        unit_free=False,
    ),
    Row(
        "KMedoids",
        lambda: sx.KMedoids(3, random_state=0),
        "clustering",
        unit_free=False,
        additive=False,
    ),
    Row(
        "KMedoids, built",
        lambda: sx.KMedoids(3, init="build"),
        "clustering",
        unit_free=False,
        additive=False,
    ),
    Row(
        "KMedoids, alternating",
        lambda: sx.KMedoids(3, method="alternate", metric="manhattan", random_state=0),
        "clustering",
        unit_free=False,
        additive=False,
    ),
    Row(
        "KMedoids, standardised",
        lambda: sx.KMedoids(3, standardize=True, random_state=0),
        "clustering",
        additive=False,
    ),
    Row(
        "KernelKMeans, standardised",
        lambda: sx.KernelKMeans(3, standardize=True, random_state=0),
        "clustering",
        additive=False,
    ),
    Row(
        "KernelKMeans",
        lambda: sx.KernelKMeans(3, random_state=0),
        "clustering",
        unit_free=False,
        additive=False,
    ),
    Row(
        "KernelKMeans by members",
        lambda: sx.KernelKMeans(3, assign="members", random_state=0),
        "clustering",
        unit_free=False,
        additive=False,
    ),
]

#: Estimators that grow a tree of clusters; their laws are in ``tests/laws/test_hierarchies.py``.
HIERARCHIES: list[Row] = [
    *(
        Row(
            f"AgglomerativeClustering, {linkage}",
            lambda linkage=linkage: sx.AgglomerativeClustering(3, linkage=linkage),
            "clustering",
            unit_free=False,
        )
        for linkage in ("single", "complete", "average", "centroid", "ward")
    ),
    Row(
        "AgglomerativeClustering, standardised",
        lambda: sx.AgglomerativeClustering(3, standardize=True),
        "clustering",
    ),
    Row(
        "AgglomerativeClustering, Manhattan",
        lambda: sx.AgglomerativeClustering(3, linkage="complete", metric="manhattan"),
        "clustering",
        unit_free=False,
    ),
]
