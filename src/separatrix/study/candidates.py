"""The table of candidate models that a study compares, simplest first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from separatrix.messages import InputError, did_you_mean
from separatrix.storage.registry import MODELS, class_in
from separatrix.study.tasks import CLASSIFICATION, REGRESSION

BASELINE = "baseline"

#: More terms than this overfit a polynomial.
MAX_POLYNOMIAL_TERMS = 500
#: Covariance matrices of more columns take longer than a comparison should.
MAX_COVARIANCE_TERMS = 1_000
#: Rows times squared coefficients beyond which a posterior of all of them takes too long.
MAX_POSTERIOR_WORK = 3e7
#: Values of C for standardized columns, from all coefficients near zero to hardly any shrinkage;
#: close together where the optimum usually is. The chosen one is solved to full accuracy.
CS = [10.0**power for power in (-4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3)]


#: Megabytes of kernel values that an SVM keeps: two fifths of what a study may take beside the
#: table.
KERNEL_CACHE = 200.0
#: Rows whose neighbors are always looked for, in all folds.
FEWEST_QUERIES = 500
#: Newton steps of a Huber regression, about; each is a product XᵀWX.
HUBER_STEPS = 20


@dataclass(frozen=True)
class Size:
    """What the cost of a fit depends on: rows, columns of the design, classes (1 for numbers).

    ``work`` is what a candidate may take in operations, ``memory`` in bytes; ``folds`` are those of
    the comparison.
    """

    rows: int
    terms: int
    classes: int = 1
    folds: int = 5
    work: float = math.inf
    memory: float = math.inf

    @property
    def numbers(self) -> float:
        """Numbers of the design, filled in."""
        return float(self.rows) * self.terms


@dataclass(frozen=True)
class Candidate:
    """A model to compare. ``from_moments`` says that moments are all it needs of the rows.

    ``tuned`` names the fitted attributes of its tuned hyperparameters; ``folds`` says that it tunes
    them on as many folds as the study has. ``raw`` marks a model that reads the table without
    imputation. ``too_expensive`` says why it is left out unless requested by name ("" if it is
    not), by the size of the data and not by the clock, so that the same table always gives the same
    comparison. A ``slow`` one has its learning curve from fewer fits. A ``tunable`` one tunes on
    the folds of the study, and gives its out-of-fold predictions on the way
    (:class:`separatrix.selection.tuning.Tunable`); ``share`` is its share of the work allowed.
    One ``on_request`` is compared only if named: others do as well on every table of the benchmark.
    ``several`` are options for more than two classes.

    ``operations`` are those that it cannot do without, however few rows it tunes on, and ``copies``
    how often it holds the design with every zero filled in (0: never, or a few rows of it). One
    that needs more of either than a study may take is left out unless it is requested by name.
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
    slow: bool = False
    tunable: bool = False
    share: float = 1.0
    on_request: bool = False
    several: dict[str, Any] = field(default_factory=dict)
    too_expensive: Callable[[Size], str] | None = None
    operations: Callable[[Size], float] | None = None
    copies: Callable[[Size], float] | None = None

    def memory(self, size: Size) -> float:
        """Bytes that it holds at once, beside the table."""
        return 0.0 if self.copies is None else 8.0 * size.numbers * self.copies(size)

    def reason_against(self, size: Size) -> str:
        """Why it is not compared unless it is requested by name; empty if it is."""
        reason = "" if self.too_expensive is None else self.too_expensive(size)
        work = 0.0 if self.operations is None else self.operations(size)
        if reason:
            return reason
        shape = f"{size.rows:,} rows of {size.terms:,} columns"
        if work > size.work:
            return f"{shape} are {power(work)} operations, and it may take {power(size.work)}"
        if self.memory(size) > size.memory:
            return (
                f"{shape} as it needs them take {self.memory(size) / 1e9:.1f} GB, and a study of "
                f"this table may take {size.memory / 1e9:.1f} GB beside it"
            )
        return ""

    def sized(self, size: Size) -> Candidate:
        """The same with the options for so many classes."""
        if size.classes <= 2 or not self.several:
            return self
        return replace(self, options={**self.options, **self.several})

    def make(self, folds: int) -> Any:
        """An unfitted estimator; ``folds`` are for those that tune a penalty."""
        cls = class_in(MODELS, self.model)
        assert cls is not None, self.model
        return cls(**self.options, **({"cv": folds} if self.folds else {}))


def power(operations: float) -> str:
    """2e10 as 2·10¹⁰."""
    digits, exponent = f"{operations:.0e}".split("e")
    return f"{digits}·10" + str(int(exponent)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _tuned(name: str, label: str, model: str, **options: Any) -> Candidate:
    """A penalized model of standardized columns, its penalty tuned by cross-validation."""
    options = {"standardize": True, **options}
    return Candidate(name, label, REGRESSION, model, options, True, ("alpha_",), True)


def _classes(name: str, label: str, model: str, **more: Any) -> Candidate:
    return Candidate(name, label, CLASSIFICATION, model, **more)


def _polynomial_cost(size: Size) -> str:
    count = size.terms * (size.terms + 3) // 2
    if count <= MAX_POLYNOMIAL_TERMS:
        return ""
    return f"{size.terms} columns give {count} squares and products"


def _covariance_cost(size: Size) -> str:
    if size.terms <= MAX_COVARIANCE_TERMS:
        return ""
    return f"covariances of {size.terms} columns take long, and rda shrinks them"


def _unpenalized_cost(size: Size) -> str:
    if size.terms < size.rows:
        return ""
    return f"with {size.terms} columns and {size.rows} rows it can fit every row exactly"


def _posterior_cost(size: Size) -> str:
    count = size.terms * (1 if size.classes <= 2 else size.classes)
    if size.rows * count**2 <= MAX_POSTERIOR_WORK:
        return ""
    return f"the posterior of {count:,} coefficients takes long on {size.rows:,} rows"


def _huber_operations(size: Size) -> float:
    return size.folds * HUBER_STEPS * size.numbers * size.terms


def _search_operations(size: Size) -> float:
    """Distances of the fewest rows that are predicted, by both metrics."""
    return FEWEST_QUERIES * size.numbers


def _term_copies(size: Size) -> float:
    """The d (d + 3) / 2 squares and products of d columns, and these standardized."""
    return size.terms + 3.0


def _standardized_copies(_: Size) -> float:
    """The design, its columns standardized, and the training rows of two folds at a time."""
    return 4.0


#: In order of complexity: of two that are equally good, the one above is taken.
CANDIDATES = (
    Candidate(BASELINE, "mean of the target", REGRESSION, "MeanRegressor", from_moments=True),
    Candidate("linear", "least squares", REGRESSION, "LinearRegression", from_moments=True),
    _tuned(
        "ridge",
        "ℓ₂ penalty, α tuned",
        "RidgeCV",
        alphas=None,
        scoring="neg_mean_squared_error",
    ),
    _tuned("lasso", "ℓ₁ penalty, α tuned", "LassoCV", max_iter=10_000),
    Candidate(
        "bayes",
        "linear, evidence maximized",
        REGRESSION,
        "BayesianRidge",
        {"standardize": True},
        from_moments=True,
    ),
    Candidate(
        "huber",
        "Huber loss",
        REGRESSION,
        "HuberRegressor",
        too_expensive=_unpenalized_cost,
        operations=_huber_operations,
    ),
    Candidate(
        "least_absolute",
        "least absolute deviations",
        REGRESSION,
        "LeastAbsoluteRegressor",
        on_request=True,
    ),
    Candidate(
        "polynomial",
        "ridge on products, tuned",
        REGRESSION,
        "PolynomialRegression",
        tunable=True,
        too_expensive=_polynomial_cost,
        copies=_term_copies,
    ),
    Candidate(
        "neighbors",
        "k-NN, tuned",
        REGRESSION,
        "KNeighborsRegressor",
        {"standardize": True},
        tunable=True,
        slow=True,
        operations=_search_operations,
        copies=_standardized_copies,
    ),
    Candidate(
        "svr",
        "RBF ε-SVR, tuned",
        REGRESSION,
        "SVRSearch",
        {"cache_size": KERNEL_CACHE},
        slow=True,
        tunable=True,
    ),
    Candidate(
        "gp",
        "Gaussian process",
        REGRESSION,
        "GaussianProcessRegressor",
        slow=True,
        tunable=True,
        share=0.5,
        copies=_standardized_copies,
    ),
    _classes(BASELINE, "class priors", "MostFrequentClassifier"),
    _classes(
        "logistic",
        "maximum likelihood",
        "LogisticRegression",
        options={"C": math.inf},
        tunable=True,
        share=0.25,
    ),
    _classes(
        "lda",
        "linear discriminant",
        "LinearDiscriminantAnalysis",
        options={"tol": 0.0},
        too_expensive=_covariance_cost,
    ),
    _classes("naive_bayes", "naive Bayes", "NaiveBayes", raw=True),
    # Without probabilities of their own: calibrated.
    _classes(
        "nearest_centroid",
        "standardized columns",
        "BasicLinearClassifier",
        options={"scatter": "diagonal"},
    ),
    _classes(
        "boxes",
        "a box for each class, fewest errors",
        "BoxClassifier",
        options={"hypothesis": "short", "max_nodes": 1000},
        on_request=True,
    ),
    _classes("least_squares", "one-hot targets", "LeastSquaresClassifier", on_request=True),
    _classes(
        "logistic_ridge",
        "ℓ₂-penalized, C tuned",
        "LogisticCV",
        options={"standardize": True, "Cs": CS},
        tunable=True,
        share=0.25,
    ),
    _classes(
        "bayes",
        "logistic, evidence maximized",
        "BayesianLogisticRegression",
        several={"approximation": "probit"},
        too_expensive=_posterior_cost,
    ),
    _classes(
        "linear_svm",
        "linear SVM, C tuned",
        "LinearSVCSearch",
        slow=True,
        tunable=True,
        share=0.2,
        on_request=True,
    ),
    _classes("qda", "quadratic discriminant", "QuadraticDiscriminantAnalysis", on_request=True),
    _classes(
        "rda",
        "regularized LDA–QDA",
        "RegularizedDiscriminantAnalysis",
        tunable=True,
        copies=_standardized_copies,
    ),
    _classes(
        "neighbors",
        "k-NN, tuned",
        "KNeighborsClassifier",
        options={"standardize": True},
        tunable=True,
        slow=True,
        operations=_search_operations,
        copies=_standardized_copies,
    ),
    _classes(
        "svm",
        "RBF SVM, tuned",
        "SVCSearch",
        options={"cache_size": KERNEL_CACHE},
        slow=True,
        tunable=True,
    ),
    _classes(
        "gp",
        "Gaussian process",
        "GaussianProcessClassifier",
        slow=True,
        tunable=True,
        share=0.2,
        copies=_standardized_copies,
    ),
)


def candidates(
    task: str, requested: Sequence[str] | None, size: Size
) -> tuple[list[Candidate], list[str]]:
    """Those to compare, the baseline always among them; and a message on each that is left out."""
    known = {c.name: c for c in CANDIDATES if c.task == task}
    if requested is None:
        usual = [c for c in known.values() if not c.on_request]
        reasons = {c.name: c.reason_against(size) for c in usual}
        messages = [left_out(name, reason) for name, reason in reasons.items() if reason]
        return [c.sized(size) for c in usual if not reasons[c.name]], messages
    for name in requested:
        if name not in known:
            other = any(c.name == name for c in CANDIDATES)
            what = (
                f"{name!r} is not a model for {task}." if other else f"There is no model {name!r}."
            )
            raise InputError(what, remedy=did_you_mean(name, list(known)))
    return [c.sized(size) for c in known.values() if c.name in {BASELINE, *requested}], []


def refuse_memory(compared: Sequence[Candidate], size: Size, available: float) -> None:
    """Refuse, before any work is done, a requested candidate that does not fit into memory."""
    for candidate in compared:
        needed = candidate.memory(size)
        if needed > available:
            raise InputError(
                f"{candidate.name} needs about {needed / 1e9:.1f} GB for {size.rows:,} rows of "
                f"{size.terms:,} columns, and this computer has {available / 1e9:.1f} GB.",
                remedy="Leave it out of `models`, or give fewer rows or columns.",
            )


def left_out(name: str, reason: str) -> str:
    """The message on a candidate that is not compared."""
    return f"{name} is left out: {reason} (override: `models=['{name}']`)."
