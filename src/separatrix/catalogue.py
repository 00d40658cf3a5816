"""What every public estimator can do, declared once: one row a class.

Public names, model files, the candidates of a study, verification, ``separatrix compile``, the
explorer, the tables of the documents and the laws of the tests read these rows, and no other list
of classes exists. What a class says of itself (whether it takes sparse matrices, whether it has a
closed form of its leave-one-out fits) is asked of the class and not repeated here.

Nothing is imported: families are named, and loaded when one of their classes is used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in the package itself: ``import separatrix`` stays fast
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Any, Self

REGRESSION, CLASSIFICATION, CLUSTERING = "regression", "classification", "clustering"
#: Tasks without a target of numbers or classes.
OUTLIERS, DENSITY, SEARCH = "outliers", "density", "search"
TRANSFORM, CALIBRATION = "transform", "calibration"
TASKS = (REGRESSION, CLASSIFICATION, CLUSTERING, OUTLIERS, DENSITY, SEARCH, TRANSFORM, CALIBRATION)


class Declaration:
    """What one estimator class can do.

    Parameters
    ----------
    name : str
        The name of the class.
    home : str
        The module that defines it, below ``separatrix``.
    task : str
        What it predicts: one of ``TASKS``.
    twin : str
        The package of scikit-learn that has a class of the same name and signature.
    stream : dict or None
        Parameters with which ``fit`` reads tables beyond memory, block by block (``{}``: all),
        and so the partitions of Dask and Spark; None if it needs all rows in memory.
    most_rows : float
        Rows of a stream that it takes if it needs all in memory and compares them with each other;
        no limit but that of memory otherwise.
    beyond : str
        What takes more rows than that: another class, or a parameter.
    moments : bool
        Whether ``fit`` takes :class:`Moments` in place of rows.
    verifier : str or callable
        What recomputes its certificate: module and function of ``verification/claims``.
    example : callable or None
        The library → an estimator that fits small data; None if the class needs no parameters.
    variants : tuple of dict
        Parameters with which it runs other compiled loops than ``example`` does.
    large : bool
        Whether it runs other loops on many rows.
    view : str
        The name under which a view of the explorer has sliders for it. Any other regressor or
        classifier that has an example without parameters is shown with its defaults.
    candidates : tuple of dict
        How a study compares it by default: fields of :class:`separatrix.study.candidates.Candidate`
        and ``rank``, its place in the order of complexity; once for each set of options. Any other
        regressor or classifier that has an example without parameters is compared where it is
        named.
    """

    def __init__(
        self,
        name: str,
        home: str,
        task: str,
        *,
        twin: str = "",
        stream: Mapping[str, Any] | None = None,
        most_rows: float = float("inf"),
        beyond: str = "",
        moments: bool = False,
        verifier: str | Callable[..., Any] = "",
        example: Callable[[Any], Any] | None = None,
        variants: tuple[Mapping[str, Any], ...] = (),
        large: bool = False,
        view: str = "",
        candidate: Mapping[str, Any] | None = None,
        candidates: Sequence[Mapping[str, Any]] = (),
        cls: type[Any] | None = None,
    ) -> None:
        self.name = name
        self.home = home if cls else f"separatrix.{home}"
        self.task = task
        self.twin = twin
        self.stream = stream
        self.most_rows, self.beyond = most_rows, beyond
        self.moments = moments
        self.verifier = verifier
        self.example = example
        self.variants = variants
        self.large = large
        self.view = view
        self.candidates = tuple(map(dict, [candidate] if candidate else candidates))
        self._cls = cls

    @property
    def studied_as(self) -> str:
        """The name in a study: that of the class unless it is compared by default."""
        return str(self.candidates[0]["name"]) if self.candidates else self.name

    @property
    def family(self) -> str:
        """The folder that the class lives in; empty for one of another package."""
        package, _, home = self.home.partition(".")
        return home.partition(".")[0] if package == "separatrix" else ""

    def load(self) -> type[Any]:
        """The class."""
        if self._cls is None:
            import importlib

            self._cls = getattr(importlib.import_module(self.home), self.name)
        return self._cls

    def make(self) -> Any:
        """An unfitted estimator for small data."""
        import separatrix

        return self.load()() if self.example is None else self.example(separatrix)

    def streams(self, model: Any) -> bool:
        """Whether ``fit`` of this estimator reads tables beyond memory, block by block."""
        return self.stream is not None and all(
            getattr(model, name, None) is not None for name in self.stream
        )

    def free_of_units(self) -> dict[str, Any]:
        """Parameters with which the units of columns do not matter, where it has such."""
        known = self.make().get_params(deep=False)
        return {"standardize": True} if "standardize" in known else {}

    def claims(self) -> Callable[..., Any] | None:
        """The function that recomputes its certificate; None if there is none."""
        if not isinstance(self.verifier, str):
            return self.verifier
        if not self.verifier:
            return None
        import importlib

        module, function = self.verifier.split(":")
        found = importlib.import_module(f"separatrix.verification.claims.{module}")
        return getattr(found, function)  # type: ignore[no-any-return]


class Registration:
    """A class of another package among the declared ones; ``with`` takes it back at its end."""

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        del DECLARATIONS[self.declaration.name]


def register(estimator: type[Any], task: str, **facts: Any) -> Registration:
    """Declare an estimator class of another package, as those of this library are declared.

    Its fitted models can then be saved and loaded, studies compare it where it is named, and pages
    describe and show it. Files name it and never import it: only a program that has registered the
    class can load them.

    Parameters
    ----------
    estimator : type
        The class, which derives from :class:`separatrix.estimators.base.RowsEstimator` or behaves
        like it: it has ``fit(X, y)`` of arrays and of :class:`Rows`, and leaves ``certificate_``.
    task : str
        What it predicts: "regression", "classification", "clustering", "outliers", "density",
        "search", "transform" or "calibration".
    **facts : object
        Further facts about it, as :class:`separatrix.catalogue.Declaration` lists them: ``example``
        if it has parameters without defaults, ``candidate`` if studies compare it unasked,
        ``verifier`` if its certificate can be recomputed.

    Returns
    -------
    Registration
        In a ``with`` statement, the class is forgotten at its end; otherwise it stays.

    See Also
    --------
    save : Save a fitted model.
    run_study : Compare models by name.

    Examples
    --------
    >>> import separatrix as sx
    >>> class Halved(sx.LinearRegression):
    ...     def predict(self, X):
    ...         return super().predict(X) / 2
    >>> with sx.register(Halved, "regression"):
    ...     rows = sx.scan({"x": range(30), "y": range(30)}, target="y")
    ...     study = sx.run_study(rows, models=["Halved"])
    >>> [entry.name for entry in study.leaderboard]
    ['baseline', 'Halved']
    """
    from separatrix.messages import InputError, did_you_mean

    if task not in TASKS:
        raise InputError(f"There is no task {task!r}.", remedy=did_you_mean(task, list(TASKS)))
    name = estimator.__name__
    if name in DECLARATIONS:
        raise InputError(
            f"{name} is declared already, by {DECLARATIONS[name].home}.",
            remedy="Give the class another name: files and studies know it by its name.",
        )
    DECLARATIONS[name] = Declaration(name, estimator.__module__, task, cls=estimator, **facts)
    return Registration(DECLARATIONS[name])


def declaration_of(model: Any) -> Declaration | None:
    """The declaration of exactly the class of an estimator; None if it has none."""
    kind = type(model)
    found = DECLARATIONS.get(kind.__name__)
    if found is None or kind.__module__ != found.home or found.load() is not kind:
        return None
    return found


def declared_class(name: object) -> type[Any] | None:
    """The class that is declared under a name; None for any other name."""
    found = DECLARATIONS.get(name) if isinstance(name, str) else None
    return None if found is None else found.load()


def of_task(task: str, *, alone: bool = False) -> Iterator[Declaration]:
    """The declared classes of a task; ``alone`` without those that are made of other models."""
    found = (declared for declared in DECLARATIONS.values() if declared.task == task)
    return (declared for declared in found if not alone or declared.example is None)


# -------------------------------------------------------------------------------------------------
# Costs of candidates, by the rows, the columns of the design and the classes of a table.


#: Pairs of columns that may have a surface.
PAIRS = 10


def _polynomial_cost(size: Any) -> str:
    count = size.terms * (size.terms + 3) // 2
    if count <= 500:  # more terms overfit
        return ""
    return f"{size.terms} columns give {count} squares and products"


def _covariance_cost(size: Any) -> str:
    if size.terms <= 1_000:  # matrices of more columns take longer than a comparison should
        return ""
    return f"covariances of {size.terms} columns take long, and rda shrinks them"


def _unpenalized_cost(size: Any) -> str:
    if size.terms < size.rows:
        return ""
    return f"with {size.terms} columns and {size.rows} rows it can fit every row exactly"


def _posterior_cost(size: Any) -> str:
    count = size.terms * (1 if size.classes <= 2 else size.classes)
    if size.rows * count**2 <= 3e7:  # more of them take too long
        return ""
    return f"the posterior of {count:,} coefficients takes long on {size.rows:,} rows"


def _huber_operations(size: Any) -> float:
    """About twenty Newton steps, each a product XᵀWX."""
    return float(size.folds * 20 * size.numbers * size.terms)


def _curve_operations(size: Any, pairs: int = 0) -> float:
    """Steps of the search for the penalties, each a factorization and an inverse; and moments.

    A curve usually has 18 functions, the surface of a pair 36, and the search takes 20 steps.
    """
    numbers = size.terms - size.levels
    count = 18 * numbers + size.levels + 36 * pairs
    one = 20 * float(count) ** 3 + float(size.rows) * (4.0 * numbers + 10.0) ** 2
    return float(size.folds * one)


def _surface_operations(size: Any) -> float:
    """The same with surfaces."""
    return _curve_operations(size, PAIRS)


def _metric_operations(size: Any) -> float:
    """Roots of the metrics of five kernels and four rounds, which no search does without.

    A root takes 11 d³ operations: an eigendecomposition and a product.
    """
    return float(size.folds * 20 * 11.0 * float(size.terms) ** 3)


def _curve_copies(size: Any) -> float:
    """The design, the training rows of a fold, and of each four functions a number, with places."""
    return float(2.0 + 1.5 * (4.0 * (size.terms - size.levels) + 10.0) / max(size.terms, 1))


def _separation_cost(size: Any) -> str:
    """Products of K with a column a class: those of the path in all folds, and of the last fit.

    As measured on tables of two to seven classes, the path takes 5 000 operations for a pair of its
    rows, which are 2 000 at most, and the last fit 2 000 for a pair of all. It may take three times
    as long as the search for its metric, which is twice as long as all others together.
    """
    n, k = float(size.rows), size.classes if size.classes > 2 else 1
    work = k * (5e3 * min(n, 2e3) ** 2 + 2e3 * n**2) + n**3
    if work <= 12.0 * size.work:
        return ""
    return f"log losses of {size.rows:,} rows of {size.classes} classes take long to minimize"


def _search_operations(size: Any) -> float:
    """Distances of the 500 rows that are predicted at least, in all folds, by both metrics."""
    return float(500 * size.numbers)


def passes(count: float, *, besides: float = 0.0) -> Callable[[Any], float]:
    """Operations of a fit by passes over n rows of d columns, of d² operations a row and class.

    ``besides`` are those of searches whose iterations are many and small.
    """

    def operations(size: Any) -> float:
        d = size.terms + 1.0
        return float(besides + count * size.rows * d * min(size.rows, d) * size.classes)

    return operations


def _pairs(each: float, *, cubes: float = 0.0, besides: float = 0.0) -> Callable[[Any], float]:
    """Operations of a fit of n² kernel values, ``each`` a column; and of systems of n equations."""

    def operations(size: Any) -> float:
        n = float(size.rows)
        return float(besides + each * n**2 * (size.terms + 1.0) + cubes * n**3)

    return operations


def _product_passes(size: Any) -> float:
    """Passes over the products of three of d columns at most."""
    d = 1.0 + (size.terms + 1.0) * (size.terms + 2.0) * (size.terms + 3.0) / 6.0
    return float(5.0 * size.rows * d * min(size.rows, d))


def _term_copies(size: Any) -> float:
    """The d (d + 3) / 2 squares and products of d columns, and these standardized."""
    return float(size.terms) + 3.0


def _standardized_copies(_: Any) -> float:
    """The design, its columns standardized, and the training rows of two folds at a time."""
    return 4.0


def _distinct_copies(_: Any) -> float:
    """The design, what its rows are ordered and compared by, both in that order, and mapped."""
    return 6.0


#: Values of C for standardized columns, from all coefficients near zero to hardly any shrinkage;
#: close together where the optimum usually is. The chosen one is solved to full accuracy.
CS = tuple(10.0**power for power in (-4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3))
#: Megabytes of kernel values that an SVM keeps: two fifths of what a study may take beside the
#: table.
KERNEL_CACHE = 200.0
#: Rows of a stream that fits take in minutes: where each is compared with the support vectors,
#: where a number is stored for each pair of rows (20 GB), and where their matrix is decomposed.
_PAIRS, _SQUARE, _CUBE = 200_000, 50_000, 15_000
_INFINITE = float("inf")
#: A penalized model of standardized columns, its penalty tuned by cross-validation of moments.
_PENALTY_TUNED = {"from_moments": True, "tuned": ("alpha_",), "folds": True}


def _candidate(name: str, rank: float, label: str, **fields: Any) -> dict[str, Any]:
    """How a study names a candidate, and where it is among the others of its task."""
    return {"name": name, "rank": rank, "label": label, **fields}


def _neighbors(rank: float) -> dict[str, Any]:
    return _candidate("neighbors", rank, "k-NN, tuned", options={"standardize": True}, tunable=True,
        searched=("n_neighbors", "weights", "metric", "p", "smoothing"), slow=True,
        operations=_search_operations, copies=_standardized_copies,
        rows_a_unit=500, fit_operations=lambda size: 2.0 * size.numbers)  # fmt: skip


def _additive(rank: float, beside: float, **fields: Any) -> tuple[dict[str, Any], ...]:
    """Curves alone, and with the surfaces of pairs of columns."""
    fields |= {"share": 4.0, "copies": _curve_copies}
    pairs = {"options": {"interactions": PAIRS}}
    return (
        _candidate("additive", rank, "smooth curves", operations=_curve_operations, **fields),
        _candidate("additive_pairs", beside, "smooth curves and surfaces of pairs",
            operations=_surface_operations, **pairs, **fields),
    )  # fmt: skip


def _process(rank: int, share: float, besides: float) -> dict[str, Any]:
    return _candidate("gp", rank, "Gaussian process", tunable=True, share=share, slow=True,
        copies=_standardized_copies, rows_a_unit=100,
        fit_operations=_pairs(30.0, cubes=10.0, besides=besides))  # fmt: skip


# -------------------------------------------------------------------------------------------------
# The classes, family by family.


# fmt: off
_ROWS = (
    # -- linear
    Declaration("LinearRegression", "linear.linear_regression", REGRESSION, view="least squares",
        twin="linear_model", stream={}, moments=True, verifier="linear:least_squares", large=True,
        candidate=_candidate("linear", 1, "least squares", from_moments=True,
            fit_operations=passes(2.0))),
    Declaration("LeastSquaresClassifier", "linear.linear_regression", CLASSIFICATION, stream={},
        verifier="linear:classes",
        candidate=_candidate("least_squares", 6, "one-hot targets", stream="moments",
            stream_on_request=True, on_request=True)),
    Declaration("Ridge", "linear.ridge", REGRESSION, view="ridge", twin="linear_model", stream={},
        moments=True, verifier="linear:ridge"),
    Declaration("RidgePath", "linear.ridge", REGRESSION, stream={}, moments=True,
        verifier="linear:ridge"),
    Declaration("RidgeCV", "linear.ridge", REGRESSION, twin="linear_model", stream={},
        verifier="linear:ridge",
        candidate=_candidate("ridge", 2, "ℓ₂ penalty, α tuned", logarithms=True,
            options={"standardize": True, "alphas": None, "scoring": "neg_mean_squared_error"},
            fit_operations=passes(5.0), **_PENALTY_TUNED)),
    Declaration("Lasso", "linear.lasso", REGRESSION, view="lasso", twin="linear_model", stream={},
        moments=True, verifier="linear:elastic_net", variants=({"positive": True},)),
    Declaration("ElasticNet", "linear.lasso", REGRESSION, twin="linear_model", stream={},
        moments=True, verifier="linear:elastic_net"),
    Declaration("LassoPath", "linear.lasso", REGRESSION, stream={}, moments=True,
        verifier="linear:elastic_net"),
    Declaration("LassoCV", "linear.lasso", REGRESSION, twin="linear_model", stream={},
        verifier="linear:elastic_net",
        candidate=_candidate("lasso", 3, "ℓ₁ penalty, α tuned",
            options={"standardize": True, "max_iter": 10_000}, **_PENALTY_TUNED)),
    Declaration("TotalLeastSquares", "linear.total_least_squares", REGRESSION, stream={}),
    Declaration("PolynomialRegression", "linear.polynomial", REGRESSION, view="polynomial",
        stream={},
        candidate=_candidate("polynomial", 8, "ridge on products, tuned", tunable=True,
            searched=("degree", "alpha"),
            too_expensive=_polynomial_cost, copies=_term_copies, fit_operations=_product_passes)),
    Declaration("PolynomialInterpolation", "linear.interpolation", REGRESSION),
    Declaration("BasisExpansion", "linear.polynomial", TRANSFORM, stream={}),
    Declaration("HuberRegressor", "linear.huber", REGRESSION, view="huber", twin="linear_model",
        stream={},
        candidate=_candidate("huber", 5, "Huber loss", too_expensive=_unpenalized_cost,
            operations=_huber_operations)),
    Declaration("LeastAbsoluteRegressor", "linear.quantile", REGRESSION,
        candidate=_candidate("least_absolute", 6, "least absolute deviations", on_request=True)),
    Declaration("QuantileRegressor", "linear.quantile", REGRESSION, view="quantile",
        twin="linear_model"),
    Declaration("PoissonRegressor", "linear.poisson", REGRESSION, twin="linear_model", stream={},
        candidate=_candidate("poisson", 6.5, "counts, maximum likelihood", only="counts",
            options={"alpha": 0.0}, too_expensive=_unpenalized_cost, fit_operations=passes(20.0))),
    # -- additive
    Declaration("AdditiveRegressor", "additive.regressor", REGRESSION,
        candidates=_additive(7, 7.5, logarithms=True, fit_operations=passes(20.0))),
    Declaration("AdditiveClassifier", "additive.classifier", CLASSIFICATION,
        candidates=_additive(8.5, 8.6, only="two classes", fit_operations=passes(40.0))),
    Declaration("AdditivePoissonRegressor", "additive.counts", REGRESSION,
        candidate=_candidate("additive_poisson", 7.7, "smooth curves of counts, Poisson deviance",
            only="counts", share=4.0, operations=_curve_operations, copies=_curve_copies,
            fit_operations=passes(40.0))),
    # -- logistic
    Declaration("LogisticRegression", "logistic.logistic_regression", CLASSIFICATION,
        view="logistic", twin="linear_model", stream={}, verifier="logistic:logistic",
        variants=({"C": _INFINITE}, {"l1_ratio": 1.0, "solver": "saga"}), large=True,
        candidate=_candidate("logistic", 1, "maximum likelihood", options={"C": _INFINITE},
            stream="passes", tunable=True, share=0.25)),
    Declaration("LogisticRegressionCV", "logistic.logistic_regression_cv", CLASSIFICATION,
        twin="linear_model", verifier="logistic:logistic"),
    Declaration("LogisticPath", "logistic.logistic_path", CLASSIFICATION, stream={},
        verifier="logistic:logistic", variants=({"l1_ratio": 1.0},)),
    Declaration("LogisticCV", "logistic.logistic_path", CLASSIFICATION,
        verifier="logistic:logistic",
        candidate=_candidate("logistic_ridge", 7, "ℓ₂-penalized, C tuned",
            options={"standardize": True, "Cs": list(CS)}, stream="passes", tunable=True,
            share=0.25)),
    Declaration("SigmoidRegressionClassifier", "logistic.sigmoid_regression", CLASSIFICATION),
    Declaration("GradientDescent", "logistic.gradient_descent", CLASSIFICATION),
    # -- discriminant
    Declaration("LinearDiscriminantAnalysis", "discriminant.linear_discriminant", CLASSIFICATION,
        view="lda", twin="discriminant_analysis", stream={}, verifier="gaussian:gaussian",
        large=True,
        candidate=_candidate("lda", 2, "linear discriminant", options={"tol": 0.0},
            stream="moments", too_expensive=_covariance_cost)),
    Declaration("QuadraticDiscriminantAnalysis", "discriminant.linear_discriminant", CLASSIFICATION,
        view="qda", twin="discriminant_analysis", stream={}, verifier="gaussian:gaussian",
        large=True,
        candidate=_candidate("qda", 10, "quadratic discriminant", stream="moments",
            on_request=True)),
    Declaration("GaussianDiscriminant", "discriminant.gaussian_discriminant", CLASSIFICATION,
        view="rda", stream={}, verifier="gaussian:gaussian"),
    Declaration("NearestMean", "discriminant.gaussian_discriminant", CLASSIFICATION, stream={}),
    Declaration("RegularizedDiscriminantAnalysis", "discriminant.gaussian_discriminant",
        CLASSIFICATION, verifier="gaussian:gaussian",
        candidate=_candidate("rda", 11, "regularized LDA–QDA", stream="moments", tunable=True,
            copies=_standardized_copies)),
    Declaration("GaussianNB", "discriminant.gaussian_classifier", CLASSIFICATION, view="bayes",
        twin="naive_bayes", stream={}, verifier="gaussian:gaussian"),
    Declaration("NaiveBayes", "discriminant.naive_bayes", CLASSIFICATION, stream={},
        candidate=_candidate("naive_bayes", 3, "naive Bayes", stream="moments", raw=True)),
    Declaration("MultinomialNB", "discriminant.count_naive_bayes", CLASSIFICATION,
        twin="naive_bayes"),
    Declaration("ComplementNB", "discriminant.count_naive_bayes", CLASSIFICATION,
        twin="naive_bayes"),
    Declaration("BernoulliNB", "discriminant.count_naive_bayes", CLASSIFICATION,
        twin="naive_bayes"),
    Declaration("BasicLinearClassifier", "discriminant.basic_linear_classifier", CLASSIFICATION,
        stream={},
        candidate=_candidate("nearest_centroid", 4, "standardized columns",
            options={"scatter": "diagonal"}, stream="moments")),
    # -- perceptron
    Declaration("Perceptron", "perceptron.perceptron", CLASSIFICATION, view="perceptron",
        twin="linear_model", verifier="hyperplanes:perceptron", variants=({"average": True},)),
    Declaration("KernelPerceptron", "perceptron.kernel_perceptron", CLASSIFICATION,
        most_rows=_PAIRS, beyond="Perceptron"),
    Declaration("PerceptronRegressor", "perceptron.perceptron_regressor", REGRESSION),
    # -- svm
    Declaration("LinearSVC", "svm.linear", CLASSIFICATION, twin="svm",
        verifier="hyperplanes:classifier", variants=({"loss": "hinge"},
            {"penalty": "l1", "dual": False}, {"multi_class": "crammer_singer"}), large=True),
    Declaration("LinearSVR", "svm.linear", REGRESSION, twin="svm", verifier="hyperplanes:regressor",
        variants=({"loss": "squared_epsilon_insensitive"},), large=True),
    Declaration("SVC", "svm.svc", CLASSIFICATION,
        most_rows=_PAIRS, beyond="LinearSVC", view="svm", twin="svm", verifier="svm:classifier",
        variants=({"kernel": "linear"}, {"kernel": "poly"}), large=True),
    Declaration("SVR", "svm.svr", REGRESSION,
        most_rows=_PAIRS, beyond="LinearSVR", twin="svm", verifier="svm:regressor", large=True),
    Declaration("NuSVC", "svm.nu", CLASSIFICATION,
        most_rows=_PAIRS, beyond="LinearSVC", twin="svm", verifier="svm:classifier"),
    Declaration("NuSVR", "svm.nu", REGRESSION,
        most_rows=_PAIRS, beyond="LinearSVR", twin="svm", verifier="svm:regressor"),
    Declaration("OneClassSVM", "svm.nu", OUTLIERS,
        most_rows=_PAIRS, twin="svm", verifier="svm:one_class"),
    Declaration("SVMPath", "svm.svm_path", CLASSIFICATION, most_rows=_SQUARE, beyond="LinearSVC"),
    Declaration("SVCSearch", "svm.search", CLASSIFICATION,
        most_rows=_PAIRS, beyond="LinearSVCSearch", verifier="svm:classifier",
        candidate=_candidate("svm", 13, "RBF SVM, tuned", rows_a_unit=50,
            fit_operations=_pairs(30.0), options={"cache_size": KERNEL_CACHE}, tunable=True,
            slow=True)),
    Declaration("SVRSearch", "svm.search", REGRESSION,
        most_rows=_PAIRS, beyond="LinearSVR", verifier="svm:regressor",
        candidate=_candidate("svr", 10, "RBF ε-SVR, tuned", logarithms=True, rows_a_unit=50,
            fit_operations=_pairs(30.0), options={"cache_size": KERNEL_CACHE}, tunable=True,
            slow=True)),
    Declaration("LinearSVCSearch", "svm.search", CLASSIFICATION, verifier="hyperplanes:classifier",
        candidate=_candidate("linear_svm", 9, "linear SVM, C tuned", stream="passes",
            rows_a_unit=1000, fit_operations=_pairs(10.0), tunable=True, share=0.2, slow=True,
            on_request=True)),
    # -- kernel machines
    Declaration("KernelRidge", "kernel_machines.kernel_ridge", REGRESSION, most_rows=_CUBE,
        twin="kernel_ridge"),
    Declaration("KernelRidgeCV", "kernel_machines.kernel_ridge", REGRESSION, most_rows=_CUBE),
    Declaration("KernelLogisticRegression", "kernel_machines.kernel_logistic", CLASSIFICATION,
        most_rows=_CUBE),
    Declaration("KernelLogisticRegressionCV", "kernel_machines.kernel_logistic", CLASSIFICATION,
        most_rows=_CUBE),
    Declaration("RecursiveFeatureMachineRegressor", "kernel_machines.recursive_feature_machine",
        REGRESSION, large=True,
        candidate=_candidate("learned_metric", 12, "kernel ridge, metric learned", share=4.0,
            logarithms=True, rows_a_unit=50, fit_operations=_pairs(30.0, cubes=1.0), tunable=True,
            slow=True, operations=_metric_operations, copies=_distinct_copies)),
    Declaration("RecursiveFeatureMachineClassifier", "kernel_machines.recursive_feature_machine",
        CLASSIFICATION, large=True,
        candidate=_candidate("learned_metric", 15, "kernel machine, metric learned", share=4.0,
            rows_a_unit=50, fit_operations=_pairs(30.0, cubes=1.0), tunable=True, slow=True,
            operations=_metric_operations, copies=_distinct_copies)),
    Declaration("RadialBasisRegressor", "kernel_machines.radial_basis", REGRESSION),
    Declaration("RadialBasisClassifier", "kernel_machines.radial_basis", CLASSIFICATION),
    Declaration("LogisticRecursiveFeatureMachine", "kernel_machines.recursive_feature_machine",
        CLASSIFICATION, most_rows=_CUBE, beyond="RecursiveFeatureMachineClassifier",
        candidate=_candidate("learned_metric_logistic", 16, "kernel logistic, metric learned",
            share=4.0, too_expensive=_separation_cost, rows_a_unit=50,
            fit_operations=_pairs(30.0, cubes=3.0), tunable=True, slow=True,
            operations=_metric_operations, copies=_distinct_copies)),
    # -- neighbors
    Declaration("KNeighborsClassifier", "neighbors.k_neighbors", CLASSIFICATION, view="neighbors",
        twin="neighbors", large=True,
        candidate=_neighbors(12)),
    Declaration("KNeighborsRegressor", "neighbors.k_neighbors", REGRESSION, twin="neighbors",
        candidate=_neighbors(9)),
    Declaration("RadiusNeighborsClassifier", "neighbors.radius_neighbors", CLASSIFICATION,
        twin="neighbors"),
    Declaration("RadiusNeighborsRegressor", "neighbors.radius_neighbors", REGRESSION,
        twin="neighbors"),
    Declaration("NearestNeighbors", "neighbors.nearest_neighbors", SEARCH, twin="neighbors",
        large=True),
    Declaration("KNeighborsTransformer", "neighbors.nearest_neighbors", TRANSFORM,
        twin="neighbors"),
    Declaration("RadiusNeighborsTransformer", "neighbors.nearest_neighbors", TRANSFORM,
        twin="neighbors"),
    Declaration("KernelVoteClassifier", "neighbors.kernel_smoothers", CLASSIFICATION,
        most_rows=_SQUARE, beyond="KNeighborsClassifier", view="vote"),
    Declaration("NadarayaWatson", "neighbors.kernel_smoothers", REGRESSION,
        most_rows=_SQUARE, beyond="KNeighborsRegressor", view="smoother"),
    Declaration("KernelDensity", "neighbors.density", DENSITY, most_rows=_PAIRS, twin="neighbors",
        variants=({"bandwidth": "likelihood"}, {"kernel": "tophat"})),
    Declaration("ParzenClassifier", "neighbors.density", CLASSIFICATION, most_rows=_PAIRS,
        beyond="KNeighborsClassifier"),
    Declaration("NearestExemplar", "neighbors.nearest_exemplar", CLASSIFICATION, view="exemplar"),
    # -- cluster
    Declaration("KMeans", "cluster.kmeans", CLUSTERING, twin="cluster", stream={},
        verifier="clusters:kmeans", example=lambda sx: sx.KMeans(3), large=True),
    Declaration("KMedoids", "cluster.kmedoids", CLUSTERING, example=lambda sx: sx.KMedoids(3)),
    Declaration("KernelKMeans", "cluster.kernel_kmeans", CLUSTERING,
        most_rows=_SQUARE, beyond="KMeans",
        example=lambda sx: sx.KernelKMeans(3)),
    Declaration("AgglomerativeClustering", "cluster.agglomerative", CLUSTERING,
        most_rows=_SQUARE, beyond="KMeans", twin="cluster",
        variants=({"linkage": "single"}, {"linkage": "complete"}, {"linkage": "average"},
            {"linkage": "centroid"})),
    # -- bayes
    Declaration("BayesianRidge", "bayes.bayesian_ridge", REGRESSION, twin="linear_model", stream={},
        moments=True,
        candidate=_candidate("bayes", 4, "linear, evidence maximized", fit_operations=passes(10.0),
            options={"standardize": True}, from_moments=True)),
    Declaration("ARDRegression", "bayes.ard_regression", REGRESSION, twin="linear_model", stream={},
        moments=True),
    Declaration("BayesianLinearRegression", "bayes.bayesian_ridge", REGRESSION, stream={},
        moments=True),
    Declaration("BayesianLogisticRegression", "bayes.bayesian_logistic_regression", CLASSIFICATION,
        stream={},
        candidate=_candidate("bayes", 8, "logistic, evidence maximized",
            several={"approximation": "probit"}, fit_operations=passes(10.0, besides=100000000.0),
            too_expensive=_posterior_cost)),
    Declaration("GaussianProcessRegressor", "bayes.gaussian_process.regressor", REGRESSION,
        most_rows=_CUBE, beyond="n_inducing=256",
        view="process", twin="gaussian_process", stream={"n_inducing": 8},
        candidate=_process(11, share=0.5, besides=0.0) | {"logarithms": True}),
    Declaration("GaussianProcessClassifier", "bayes.gaussian_process.classifier", CLASSIFICATION,
        most_rows=_CUBE, beyond="n_inducing=256",
        view="process", twin="gaussian_process", stream={"n_inducing": 8},
        candidate=_process(14, share=0.2, besides=300000000.0)),
    Declaration("EvidenceAveraging", "bayes.averaging", REGRESSION, moments=True,
        example=lambda sx: sx.EvidenceAveraging([sx.BayesianRidge(), sx.ARDRegression()])),
    # -- hypotheses
    Declaration("BoxClassifier", "hypotheses.box_classifier", CLASSIFICATION,
        most_rows=_PAIRS, view="boxes",
        verifier="boxes:boxes",
        candidate=_candidate("boxes", 5, "a box for each class, fewest errors",
            options={"hypothesis": "short", "max_nodes": 1000}, on_request=True)),
    Declaration("UnionOfBoxes", "hypotheses.box_classifier", CLASSIFICATION, most_rows=_PAIRS),
    Declaration("BallClassifier", "hypotheses.enclosing", CLASSIFICATION),
    Declaration("EllipsoidClassifier", "hypotheses.enclosing", CLASSIFICATION),
    # -- metric learning
    Declaration("NeighborhoodComponentsAnalysis", "metric_learning.neighborhood_components",
        TRANSFORM, twin="neighbors"),
    Declaration("LargeMarginNearestNeighbors", "metric_learning.large_margin", TRANSFORM,
        most_rows=_PAIRS),
    Declaration("GradientOuterProductMetric", "metric_learning.gradient_outer_product", TRANSFORM),
    # -- models around others
    Declaration("CalibratedClassifier", "probability.calibrations", CLASSIFICATION,
        example=lambda sx: sx.CalibratedClassifier(sx.GaussianNB())),
    Declaration("RejectOption", "probability.costs", CLASSIFICATION,
        example=lambda sx: sx.RejectOption(sx.GaussianNB())),
    Declaration("OneVsRest", "probability.multiclass", CLASSIFICATION,
        example=lambda sx: sx.OneVsRest(sx.GaussianNB())),
    Declaration("OneVsOne", "probability.multiclass", CLASSIFICATION,
        example=lambda sx: sx.OneVsOne(sx.GaussianNB())),
    Declaration("LogisticCalibration", "probability.calibrations", CALIBRATION),
    Declaration("PlattCalibration", "probability.calibrations", CALIBRATION),
    Declaration("IsotonicCalibration", "probability.calibrations", CALIBRATION),
    Declaration("TemperatureCalibration", "probability.calibrations", CALIBRATION),
    Declaration("ConformalRegressor", "conformal.regressor", REGRESSION,
        example=lambda sx: sx.ConformalRegressor(sx.LinearRegression())),
    Declaration("ConformalClassifier", "conformal.classifier", CLASSIFICATION,
        example=lambda sx: sx.ConformalClassifier(sx.GaussianNB())),
    Declaration("AveragedClassifier", "estimators.averages", CLASSIFICATION,
        example=lambda sx: sx.AveragedClassifier([sx.GaussianNB(), sx.NearestMean()])),
    Declaration("AveragedRegressor", "estimators.averages", REGRESSION,
        example=lambda sx: sx.AveragedRegressor([sx.LinearRegression(), sx.MeanRegressor()])),
    Declaration("LogTargetRegressor", "estimators.log_target", REGRESSION,
        example=lambda sx: sx.LogTargetRegressor(sx.LinearRegression(), offset=1000.0)),
    Declaration("ModelAverage", "estimators.averages", REGRESSION,
        example=lambda sx: sx.ModelAverage([sx.LinearRegression(), sx.MeanRegressor()])),
    # -- baselines and encoders
    Declaration("MeanRegressor", "estimators.baseline", REGRESSION, stream={}, moments=True,
        verifier="linear:mean",
        candidate=_candidate("baseline", 0, "mean of the target", from_moments=True)),
    Declaration("MostFrequentClassifier", "estimators.baseline", CLASSIFICATION, stream={},
        candidate=_candidate("baseline", 0, "class priors", stream="moments")),
    Declaration("TableEncoder", "estimators.transformers", TRANSFORM, stream={}),
    Declaration("Center", "estimators.transformers", TRANSFORM, stream={}),
    Declaration("Standardize", "estimators.transformers", TRANSFORM, stream={}),
    Declaration("Whiten", "estimators.transformers", TRANSFORM, stream={}),
)
# fmt: on

#: The declared classes by name.
DECLARATIONS: dict[str, Declaration] = {row.name: row for row in _ROWS}
