"""The closed table of models that a study compares, simplest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from separatrix.messages import InputError, did_you_mean
from separatrix.storage.registry import MODELS, class_in
from separatrix.study.tasks import CLASSIFICATION, REGRESSION

BASELINE = "baseline"

#: More terms than this are more than a polynomial can be trusted with.
MOST_POLYNOMIAL_TERMS = 500
#: More coefficients than this, for more than two classes, take longer than a comparison should.
MOST_SOFTMAX_COEFFICIENTS = 1_000
#: Rows times squared terms (or their cubes) beyond which maximum likelihood is left for later.
MOST_NEWTON_WORK = 2e11
#: Similarities of rows, times columns and machines, beyond which kernels are left for later.
MOST_KERNEL_WORK, MOST_TUBE_WORK = 1.5e10, 3e9
#: The columns that a similarity costs beside its own.
KERNEL_COLUMNS = 30
#: Distances between rows, times columns, beyond which neighbours take long.
MOST_NEIGHBOUR_WORK = 1.5e10
#: Machines times rows times columns beyond which linear machines take long.
MOST_LINEAR_WORK = 3e8
#: So many rows for each coefficient leave a penalty nothing to do.
ROWS_PER_COEFFICIENT = 30
#: Values of C for columns of unit deviation, from all shrunk away to hardly shrunk; close together
#: where choices fall. The one chosen is solved to full accuracy.
PENALTIES = [10.0**power for power in (-4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3)]


@dataclass(frozen=True)
class Size:
    """What the cost of a fit depends on: rows, columns of the design, classes (1 for numbers)."""

    rows: int
    terms: int
    classes: int = 1


@dataclass(frozen=True)
class Candidate:
    """A model that may win. ``from_moments`` says that moments are all it needs of the rows.

    ``tuned`` names the fitted attributes that hold what it chose by itself; ``folds`` says that it
    does so on as many folds as the study has. ``raw``
    marks a model that reads the table as it stands, gaps and all. ``too_much`` tells from the size
    of the data why it is left out unless asked for by name ("" if it is not): by size and not by
    the clock, so that the same table always gives the same comparison. A ``spare`` joins only
    where it has something to mend: few rows for the coefficients, or classes that are separable.
    A ``slow`` one has its learning curve drawn from fewer fits.
    """

    name: str
    label: str
    task: str
    model: str
    options: dict[str, Any] = field(default_factory=dict)
    from_moments: bool = False
    tuned: tuple[str, ...] = ()
    folds: bool = False
    raw: bool = False
    spare: bool = False
    slow: bool = False
    too_much: Callable[[Size], str] | None = None

    def make(self, folds: int) -> Any:
        """An estimator to fit; ``folds`` serve those that tune a penalty."""
        cls = class_in(MODELS, self.model)
        assert cls is not None, self.model
        return cls(**self.options, **({"cv": folds} if self.folds else {}))


def _tuned(name: str, model: str) -> Candidate:
    """A penalised model, right whatever the units, its penalty chosen by cross-validation."""
    label = f"{name}, penalty by cross-validation"
    return Candidate(name, label, REGRESSION, model, {"standardize": True}, True, ("alpha_",), True)


def _classes(name: str, label: str, model: str, **more: Any) -> Candidate:
    return Candidate(name, label, CLASSIFICATION, model, **more)


def _products(size: Size) -> str:
    count = size.terms * (size.terms + 3) // 2
    if count <= MOST_POLYNOMIAL_TERMS:
        return ""
    return f"{size.terms} columns give {count} squares and products"


def _likelihood(size: Size) -> str:
    coefficients = (size.classes - 1) * (size.terms + 1)
    if size.classes > 2 and coefficients > MOST_SOFTMAX_COEFFICIENTS:
        return f"{size.classes} classes have {coefficients} coefficients, which takes long"
    side = min(size.rows, size.terms + 1)
    if size.rows * side * (size.terms + 1) > MOST_NEWTON_WORK:
        return f"{size.rows} rows of {size.terms} columns take long"
    return ""


def _hyperplanes(size: Size) -> str:
    svms = 1 if size.classes == 2 else size.classes
    if svms * size.rows * size.terms <= MOST_LINEAR_WORK:
        return ""
    return f"margins of {size.rows} rows in {size.terms} columns{_times(svms)} take long"


def _times(svms: int) -> str:
    return f", once for each of {svms} classes," if svms > 1 else ""


def _similarities(size: Size) -> str:
    """Kernels compare rows with rows, for each machine."""
    svms = 1 if size.classes <= 2 else size.classes
    most = MOST_TUBE_WORK if size.classes == 1 else MOST_KERNEL_WORK
    if svms * size.rows**2 * (size.terms + KERNEL_COLUMNS) <= most:
        return ""
    return f"a kernel compares {size.rows} rows with each other{_times(svms).rstrip(',')}"


def _distances(size: Size) -> str:
    if size.rows**2 * (size.terms + KERNEL_COLUMNS) <= MOST_NEIGHBOUR_WORK:
        return ""
    return f"every row of {size.rows} is compared with all others"


#: In order of complexity: of two that are equally good, the one above is taken.
CANDIDATES = (
    Candidate(BASELINE, "the mean", REGRESSION, "MeanRegressor", from_moments=True),
    Candidate("linear", "least squares", REGRESSION, "LinearRegression", from_moments=True),
    _tuned("ridge", "RidgeCV"),
    _tuned("lasso", "LassoCV"),
    Candidate("huber", "outliers weigh less", REGRESSION, "HuberRegressor"),
    Candidate("least_absolute", "least absolute error", REGRESSION, "LeastAbsoluteRegressor"),
    Candidate(
        "polynomial",
        "squares and products",
        REGRESSION,
        "PolynomialRegression",
        too_much=_products,
    ),
    Candidate(
        "neighbours",
        "mean of the nearest rows",
        REGRESSION,
        "KNeighborsRegressor",
        {"n_neighbors": "auto", "standardize": True},
        tuned=("n_neighbors_",),
        slow=True,
        too_much=_distances,
    ),
    Candidate(
        "svr",
        "tube, Gaussian kernel",
        REGRESSION,
        "SVRSearch",
        tuned=("C_", "bandwidth_", "epsilon_"),
        slow=True,
        too_much=_similarities,
    ),
    _classes(BASELINE, "shares of the classes", "MostFrequentClassifier"),
    _classes("logistic", "likeliest probabilities", "LogisticRegression", too_much=_likelihood),
    _classes("lda", "linear discriminant", "LinearDiscriminantAnalysis"),
    _classes("naive_bayes", "independent columns", "NaiveBayes", raw=True),
    # These give scores alone; what reads them as probabilities is a second model on top.
    _classes(
        "basic",
        "nearest scaled mean",
        "BasicLinearClassifier",
        options={"scatter": "diagonal"},
    ),
    _classes("least_squares", "least squares", "LeastSquaresClassifier"),
    _classes(
        "logistic_ridge",
        "penalty tuned on folds",
        "LogisticCV",
        options={"standardize": True, "Cs": PENALTIES, "tol": 1e-4},
        tuned=("C_",),
        folds=True,
        spare=True,
        slow=True,
        too_much=_likelihood,
    ),
    _classes(
        "linear_svm",
        "widest margin",
        "LinearSVCSearch",
        tuned=("C_",),
        slow=True,
        too_much=_hyperplanes,
    ),
    _classes("qda", "quadratic discriminant", "QuadraticDiscriminantAnalysis"),
    _classes(
        "rda",
        "regularized discriminant",
        "RegularizedDiscriminantAnalysis",
        tuned=("alpha_", "beta_"),
        folds=True,
    ),
    _classes(
        "neighbours",
        "nearest rows vote",
        "KNeighborsClassifier",
        options={"n_neighbors": "auto", "standardize": True},
        tuned=("n_neighbors_",),
        slow=True,
        too_much=_distances,
    ),
    _classes(
        "svm",
        "margin, any shape",
        "SVCSearch",
        tuned=("C_", "bandwidth_"),
        slow=True,
        too_much=_similarities,
    ),
)


def candidates(
    task: str, asked: Sequence[str] | None, size: Size
) -> tuple[list[Candidate], list[str]]:
    """Those to compare, the baseline always among them; and a sentence on any that was left out."""
    known = {c.name: c for c in CANDIDATES if c.task == task}
    if asked is None:
        reasons = {c.name: c.too_much(size) if c.too_much else "" for c in known.values()}
        said = [_left_out(name, reason) for name, reason in reasons.items() if reason]
        return [c for c in known.values() if not reasons[c.name]], said
    for name in asked:
        if name not in known:
            other = any(c.name == name for c in CANDIDATES)
            what = f"{name!r} is not a model for {task}." if other else f"No model {name!r}."
            raise InputError(what, remedy=did_you_mean(name, list(known)))
    return [c for c in known.values() if c.name in {BASELINE, *asked}], []


def _left_out(name: str, reason: str) -> str:
    return f"{name} is left out: {reason} (to try it all the same: --models {name})."


def few_rows(size: Size) -> bool:
    """Whether a penalty may help: not many rows for each coefficient."""
    coefficients = max(1, size.classes - 1) * (size.terms + 1)
    return size.rows < ROWS_PER_COEFFICIENT * coefficients
