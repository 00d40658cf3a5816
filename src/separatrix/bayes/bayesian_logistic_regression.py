"""Logistic regression with a posterior: Laplace approximation, evidence, sampling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Matrix, NDArray
from separatrix.bayes import laplace, sampling
from separatrix.bayes.sampling import sample_posterior
from separatrix.estimators.base import reads_tables
from separatrix.estimators.class_labels import class_rows, class_terms, label_terms
from separatrix.estimators.linear_classifier import ProbabilisticLinearClassifier
from separatrix.formula import nodes
from separatrix.formula.values import Value, concat, rows_of_a_tile
from separatrix.messages import InputError, check_option, warn
from separatrix.notebook import Shown
from separatrix.parameters import declare_parameters
from separatrix.probability.likelihood import LogisticRows
from separatrix.rows.rows import InMemory, Rows
from separatrix.threads import on_one_blas_thread

APPROXIMATIONS = ("quadrature", "probit")


@declare_parameters
class BayesianLogisticRegression(ProbabilisticLinearClassifier):
    """Logistic regression with a posterior distribution, for two or more classes.

        p(y | x, W, a) = softmax(W x + a)_y,      σⱼ (wₖ − wₗ)ⱼ ~ N(0, σ²),    aₖ − aₗ ~ N(0, σ₀²)

    The posterior is approximated by the normal distribution at its maximum (Laplace), whose
    covariance is the inverse of the curvature there. Probabilities of new rows are means over the
    posterior: less extreme than those of the maximum, and the less so the farther from the rows.

    The prior is on coefficients of standardized columns (σⱼ is the standard deviation of column j),
    so that the fit does not depend on units: the log odds of any two classes change by N(0, σ²) for
    a standard deviation of a column. The prior scale σ maximizes the evidence unless it is given.
    The prior of the intercept, at the mean of all columns, is proper but wide, so that the evidence
    exists and can be compared with that of other models; with two classes it says that log odds
    beyond ±2σ₀ are unlikely.

    Parameters
    ----------
    prior_scale : float or None, default=None
        σ; None maximizes the evidence over 0.001 to 1000.
    intercept_scale : float, default=10.0
        σ₀.
    fit_intercept : bool, default=True
        Whether scores have an intercept. Without one, columns are not centered, and are divided by
        their root mean squares.
    approximation : {"quadrature", "probit"}, default="quadrature"
        How probabilities are integrated: "quadrature" to 1e-12 for two classes (see
        :meth:`quadrature_error` for more); "probit" is MacKay's formula, within 0.018 of it.
    max_iter : int, default=100
        Newton steps at most, for each prior scale.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients at the maximum of the posterior; of several classes they add up to zero.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    coef_std_ : ndarray of the shape of ``coef_``
        Posterior standard deviations.
    intercept_std_ : ndarray of the shape of ``intercept_``
        Posterior standard deviations.
    prior_scale_ : float
        σ as given or learned.
    log_evidence_ : float
        Laplace approximation of log p(y | X, σ), all constants included.
    posterior_ : LaplacePosterior
        The normal distribution in standardized coordinates.
    certificate_ : Certificate
        Gradients of the log posterior and of the evidence.
    n_iter_ : int
        Passes over the rows for the last prior scale.

    See Also
    --------
    LogisticRegression : Maximum likelihood, or a penalty.
    BayesianRidge : Numeric targets.
    GaussianProcessClassifier : Boundaries of any shape.

    References
    ----------
    D. J. C. MacKay, "The evidence framework applied to classification networks", Neural
    Computation, 1992.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> model = sx.BayesianLogisticRegression(prior_scale=2.0).fit(X, [0, 0, 1, 0, 1, 1])
    >>> model.coef_.round(2), model.coef_std_.round(2)
    (array([[0.84]]), array([[0.59]]))
    >>> model.predict_proba([[2.5], [50.0]]).round(2)
    array([[0.5 , 0.5 ],
           [0.08, 0.92]])
    >>> model.certificate_.holds
    True
    """

    _: KW_ONLY
    prior_scale: float | None = None
    intercept_scale: float = 10.0
    fit_intercept: bool = True
    approximation: str = "quadrature"
    max_iter: int = 100

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        options = self._options()
        rows = class_rows(self, X, y, sample_weight)
        data = LogisticRows.of(rows)
        targets = class_terms(self, rows, data.targets)
        solution = laplace.fit_posterior(data, targets, options)
        self._accept(solution, data.encoding, flat=False)
        self.posterior_: laplace.LaplacePosterior = solution.posterior
        self.prior_scale_ = float(solution.posterior.prior_scale)
        self.log_evidence_ = float(solution.log_evidence)
        self.coef_std_, self.intercept_std_ = solution.posterior.standard_deviations()
        self._rows = data.rows
        if not solution.certificate.holds:
            warn(
                "SEP003",
                f"stopped after {solution.iterations} passes; see certificate_. Raise max_iter.",
            )
        return self

    @on_one_blas_thread
    def decision_function(self, X: Any, *, return_std: bool = False) -> Any:
        """Posterior means of the scores: one, positive for ``classes_[1]``, or one for each class.

        With ``return_std`` also their posterior standard deviations, of the same shape.
        """
        if not return_std:
            return super().decision_function(X)
        _, covariance = self._logits(X)
        basis = self.posterior_.coordinates.basis
        spread = np.sqrt(np.einsum("ka,nab,kb->nk", basis, covariance, basis, optimize=True))
        scores = super().decision_function(X)
        return scores, spread[:, 0] if len(self.classes_) == 2 else spread

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Floats:
        """Posterior predictive probabilities of the classes, in the order of ``classes_``."""
        check_is_fitted(self)
        check_option("approximation", self.approximation, APPROXIMATIONS)
        return self._probabilities(self._design(X))

    def _probabilities(self, x: Matrix) -> Floats:
        """Predictive probabilities of encoded rows."""
        mean, covariance = self.posterior_.logits(x)
        probit = self.approximation == "probit"
        if len(self.classes_) == 2:
            m, v = mean[:, 0], covariance[:, 0, 0]
            integral = laplace.probit_mean if probit else laplace.sigmoid_mean
            return np.column_stack([integral(-m, v), integral(m, v)])
        basis = self.posterior_.coordinates.basis
        return (laplace.softmax_probit if probit else laplace.softmax_mean)(mean, covariance, basis)

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of the predictive probabilities."""
        return np.asarray(np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny)))

    def quadrature_error(self, X: Any) -> Floats:
        """Largest error of the predictive probabilities of every row.

        Two classes have a rule of known error; with more it is the difference from a rule of about
        half of the nodes.
        """
        mean, covariance = self._logits(X)
        if len(self.classes_) == 2:
            return np.full(len(mean), laplace.QUADRATURE_ERROR)
        basis = self.posterior_.coordinates.basis
        fine = laplace.softmax_mean(mean, covariance, basis)
        coarse = laplace.softmax_mean(mean, covariance, basis, coarse=True)
        return np.asarray(np.abs(fine - coarse).max(axis=1))

    @on_one_blas_thread
    def sample_posterior(
        self, n_samples: int = 1, random_state: Any = None
    ) -> tuple[Floats, Floats]:
        """Draws from the Laplace approximation: coefficients and intercepts.

        Their shapes are those of ``coef_`` and ``intercept_``, with the draws in front.
        """
        check_is_fitted(self)
        return self.posterior_.draws(n_samples, np.random.default_rng(random_state))

    @on_one_blas_thread
    def sample(
        self,
        n_samples: int = 1000,
        *,
        n_chains: int = 4,
        n_warmup: int | None = None,
        random_state: Any = None,
        method: str = "auto",
        progress: sampling.Progress | None = None,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> sampling.LogisticSamples:
        """Draws from the exact posterior with the prior scale of the fit, by several chains.

        "independence" proposes from the Laplace approximation (with the tails of Student's t) and
        corrects it by Metropolis' rule, "hamiltonian" follows leapfrog trajectories, "polya_gamma"
        takes Gibbs steps (two classes, whole weights); "auto" is the first where nearly all its
        proposals count, else the second. Chains run on threads, each with its own generator.
        ``n_warmup`` steps of each are not used. ``progress(stage, done, total)`` is called now and
        then. Warning SEP018 says that chains have not mixed. The training rows are those of
        ``fit``; a model from a file needs ``X, y``.
        """
        check_is_fitted(self)
        options = sampling.SamplingOptions(n_samples, n_chains, n_warmup, random_state, method)
        if X is None and self._rows is None:
            raise InputError(
                "A model from a file does not hold its training rows.",
                remedy="Give them: sample(X=…, y=…).",
            )
        if X is None:
            rows: Any = self._rows
        else:
            rows = class_rows(
                self, X, y, sample_weight, known=self.classes_, closed=True, reset=False
            )
        names, scores = self.encoding_.names, len(self.coef_)
        sampling.check_draws(n_samples * n_chains, scores * (1 + len(names)))
        terms = label_terms(self.classes_, rows.schema.targets[0].name)
        target = sampling.sampling_target(rows, terms, self.posterior_, float(self.intercept_scale))
        theta, chosen, accepted = sample_posterior(target, options, progress)
        v = theta.reshape(*theta.shape[:2], *self.posterior_.mean.shape)
        free = np.random.default_rng(sampling.seed_sequence(random_state))
        coef, intercept = self.posterior_.to_table(v, free)
        samples = sampling.LogisticSamples(
            coef, intercept, tuple(names), self.classes_, chosen, accepted, self
        )
        if not samples.certificate_.holds:
            warn("SEP018", str(samples.certificate_))
        return samples

    def compare(self, samples: sampling.LogisticSamples, X: Any = None) -> PosteriorComparison:
        """The Laplace approximation beside draws: means, standard deviations, and probabilities.

        These are of the rows of ``X``, or of up to 1000 training rows.
        """
        check_is_fitted(self)
        if X is None:
            if self._rows is None:
                raise InputError(
                    "A model from a file does not hold its training rows.",
                    remedy="Give rows to compare probabilities of: compare(samples, X).",
                )
            return compare_posteriors(self, samples, training_design(self._rows))
        return compare_posteriors(self, samples, self._design(X))

    def _logits(self, X: Any) -> tuple[Floats, Floats]:
        check_is_fitted(self)
        return self.posterior_.logits(self._design(X))

    def _options(self) -> laplace.PosteriorOptions:
        """The parameters, checked."""
        scale = self.prior_scale
        if scale is not None and not 0.0 < scale < np.inf:
            raise InputError(
                f"prior_scale={scale!r} must be positive and finite.",
                remedy="None learns it from the evidence.",
            )
        if not 0.0 < self.intercept_scale < np.inf:
            raise InputError(
                f"intercept_scale={self.intercept_scale!r} must be positive and finite."
            )
        if not self.max_iter >= 1:
            raise InputError(f"max_iter={self.max_iter!r} must be at least 1.")
        check_option("approximation", self.approximation, APPROXIMATIONS)
        given = None if scale is None else float(scale)
        return laplace.PosteriorOptions(
            given, float(self.intercept_scale), bool(self.fit_intercept), int(self.max_iter)
        )

    def formula(self) -> nodes.ClassFormula:
        """Probabilities averaged over the normal posterior of the coefficients."""
        probit, names = self.approximation == "probit", nodes.probability_names(self.classes_)
        scores = self._linear_scores()
        averaged = self._probabilities
        p = PosteriorProbabilities(scores.x, self.posterior_, probit, averaged, names=names)
        return nodes.by_probability(p, self.classes_, scores)


# -------------------------------------------------------------------------------------------------
# The Laplace approximation beside draws from the exact posterior.


@dataclass(frozen=True, repr=False)
class PosteriorComparison(Shown):
    """Means and standard deviations of the Laplace approximation and of posterior draws.

        difference = (mean of draws − mean of approximation) / Monte Carlo standard error

    A difference of a few standard errors is one of the approximation, not of the draws; what it
    matters is measured by ``relative_shift``, in standard deviations of the posterior, and by the
    probabilities of the compared rows.

    Parameters
    ----------
    labels : tuple of str
        The quantities: intercept and columns, for each score.
    laplace_mean, laplace_std : ndarray
        Of the approximation.
    sample_mean, sample_std : ndarray
        Of the draws.
    sample_interval : ndarray of shape (quantities, 2)
        Central 95% intervals of the draws.
    standard_error : ndarray
        Monte Carlo standard errors of ``sample_mean``.
    laplace_proba, sample_proba : ndarray of shape (rows, n_classes)
        Predictive probabilities.
    mixed : bool
        Whether the certificate of the draws holds.

    See Also
    --------
    BayesianLogisticRegression : Its ``compare`` returns one.
    LaplaceComparisonDisplay : The picture of it.

    References
    ----------
    L. Tierney and J. B. Kadane, Accurate approximations for posterior moments and marginal
    densities, Journal of the American Statistical Association 81, 1986.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> model = sx.BayesianLogisticRegression(prior_scale=2.0).fit(X, [0, 0, 1, 0, 1, 1])
    >>> comparison = model.compare(model.sample(2000, random_state=0))
    >>> comparison.labels
    ('intercept', 'x0')
    >>> bool(comparison.relative_shift[1] > 0.1)  # the posterior is skewed
    True
    >>> comparison.largest_probability_difference < 0.1
    True
    """

    labels: tuple[str, ...]
    laplace_mean: Floats
    laplace_std: Floats
    sample_mean: Floats
    sample_std: Floats
    sample_interval: Floats
    standard_error: Floats
    laplace_proba: Floats
    sample_proba: Floats
    mixed: bool

    @property
    def differences(self) -> Floats:
        """Differences of the means in Monte Carlo standard errors; 0 where nothing varies."""
        return _ratio(self.sample_mean - self.laplace_mean, self.standard_error)

    @property
    def relative_shift(self) -> Floats:
        """Differences of the means in standard deviations of the draws."""
        return _ratio(self.sample_mean - self.laplace_mean, self.sample_std)

    @property
    def std_ratio(self) -> Floats:
        """Standard deviations of the approximation by those of the draws; 1 where both are 0."""
        same = (self.sample_std == 0.0) & (self.laplace_std == 0.0)
        return np.where(same, 1.0, _ratio(self.laplace_std, self.sample_std))

    @property
    def laplace_interval(self) -> Floats:
        """Central 95% intervals of the approximation."""
        half = float(ndtri(0.975)) * self.laplace_std
        return np.stack([self.laplace_mean - half, self.laplace_mean + half], axis=1)

    @property
    def largest_probability_difference(self) -> float:
        """Largest difference of a predictive probability over the compared rows."""
        return float(np.abs(self.laplace_proba - self.sample_proba).max(initial=0.0))

    def __str__(self) -> str:
        index = int(np.argmax(np.abs(self.relative_shift)))
        spread = int(np.argmax(np.abs(np.log(np.maximum(self.std_ratio, 1e-300)))))
        text = (
            f"Laplace approximation against draws: the mean of {self.labels[index]} differs "
            f"most, by {abs(self.relative_shift[index]):.2f} standard deviations "
            f"({abs(self.differences[index]):.1f} Monte Carlo standard errors); the standard "
            f"deviation of {self.labels[spread]} is {self.std_ratio[spread]:.2f} times that of the "
            f"draws; probabilities of {len(self.laplace_proba)} rows differ by at most "
            f"{self.largest_probability_difference:.3f}."
        )
        return text if self.mixed else f"{text} The chains have not mixed: draw more samples."


def training_design(rows: Rows) -> Matrix:
    """Evenly spaced training rows, encoded; of a stream the first."""
    x = rows.collect().x if isinstance(rows, InMemory) else next(iter(rows.blocks())).x
    # Rows whose probabilities are compared at most.
    at = np.linspace(0, x.shape[0] - 1, min(1000, x.shape[0])).astype(np.intp)
    return x[at]


def _ratio(a: Floats, b: Floats) -> Floats:
    """a/b, and 0 where b is 0."""
    positive: NDArray[np.bool_] = b > 0.0
    return np.where(positive, a / np.where(positive, b, 1.0), 0.0)


def compare_posteriors(
    model: BayesianLogisticRegression, samples: sampling.LogisticSamples, x: Matrix
) -> PosteriorComparison:
    """The comparison over encoded rows."""
    if samples.coef.shape[2:] != model.coef_.shape:
        raise InputError(
            f"The samples have coefficients of shape {samples.coef.shape[2:]}, and the model of "
            f"{model.coef_.shape}.",
            remedy="Compare samples of this model: model.sample(…).",
        )
    mean = np.column_stack([model.intercept_, model.coef_]).ravel()
    std = np.column_stack([model.intercept_std_, model.coef_std_]).ravel()
    spread, size = samples.std, samples.diagnostics.ess_bulk
    error = np.where(np.isfinite(size), spread / np.sqrt(np.where(size > 0.0, size, 1.0)), 0.0)
    return PosteriorComparison(
        samples.labels,
        mean,
        std,
        samples.mean,
        spread,
        samples.interval(0.95),
        error,
        model._probabilities(x),
        samples.probabilities(x),
        samples.certificate_.holds,
    )


# -------------------------------------------------------------------------------------------------
# Predictive probabilities as a node of a formula.


@dataclass(frozen=True, eq=False)
class PosteriorProbabilities(nodes.Node):
    """Probabilities averaged over a normal posterior: by quadrature, or by the probit function."""

    x: nodes.Node
    posterior: laplace.LaplacePosterior
    probit: bool
    averaged: Callable[[Floats], Floats]
    stage: ClassVar[str] = "probabilities"

    def typical_points(self) -> Floats:
        """A standard deviation below and above the mean."""
        at = self.posterior.coordinates
        spread = np.where(np.isfinite(at.scale), at.scale, 0.0)
        return np.stack([at.center - spread, at.center + spread])

    def compute(self, of: nodes.Evaluation) -> Any:
        """Some rows at a time."""
        posterior, several = self.posterior, self.posterior.coordinates.n_classes > 2
        x = of(self.x)
        if several and not self.probit:
            return x.by_function(
                self.averaged,
                "Averages of several classes over a posterior need the eigenvectors of a matrix "
                "for every row, which ONNX has no operator for; approximation='probit' does "
                "without.",
            )

        def work(part: Value) -> list[Value]:
            if several:
                return [_softmax_probit(posterior, part)]
            mean, variance = _logit(posterior, part)
            integral = _probit_mean if self.probit else mean_sigmoid
            return [concat([integral(-mean, variance), integral(mean, variance)])]

        return x.by_tiles(rows_of_a_tile(128), work)[0]


def mean_sigmoid(mean: Value, variance: Value) -> Value:
    """E σ(f), f ~ N(m, s²), by the same quadrature (n x 1)."""
    sd = variance.sqrt()
    points, weights = laplace._hermite(64)
    narrow = (mean + sd * points[None, :]).sigmoid() @ weights[:, None]
    u, slope = laplace._logistic_density()
    wide = (sd > 0.0).where(sd, 1.0)
    tail = ((-mean.abs() - u[None, :]) / wide).normal_cdf() @ slope[:, None]
    wide_mean = (mean <= 0.0).where(tail, 1.0 - tail)
    return (sd <= 1.0).where(narrow, wide_mean)


def _probit_mean(mean: Value, variance: Value) -> Value:
    """σ(m / √(1 + πs²/8))."""
    return (mean / (variance * (np.pi / 8.0) + 1.0).sqrt()).sigmoid()


def _logit(posterior: Any, x: Value) -> tuple[Value, Value]:
    """Mean and variance of the score of two classes."""
    z, outside = _coordinates(posterior, x)
    variance = (z @ (posterior.factor)).square().sum()
    return z @ (posterior.mean.T), variance + outside


def _coordinates(posterior: Any, x: Value) -> tuple[Value, Value]:
    """The design of the posterior, and the prior variance of what is outside of its span."""
    at = posterior.coordinates
    whole = (x - at.center) / at.scale
    z, outside = whole, x.fill(0.0, 1)
    if at.span is not None:
        z = whole @ (at.span)
        left = whole - z @ (at.span.T)
        outside = left.square().sum() * float(posterior.prior_scale**2)
    return (concat([z, x.fill(1.0, 1)]) if at.intercept else z), outside


def _softmax_probit(posterior: Any, x: Value) -> Value:
    """1 / Σⱼ exp((mⱼ − mₖ) / √(1 + πsⱼₖ²/8)) divided by their sum, s² of differences of scores."""
    z, outside = _coordinates(posterior, x)
    basis, (c, m) = posterior.coordinates.basis, posterior.mean.shape
    k = len(basis)
    scores = z @ (posterior.mean.T @ basis.T)
    blocks = posterior.factor.reshape(c, m, -1)
    spread = [z @ (np.tensordot(row, blocks, axes=1)) for row in basis]

    def scale_difference(i: int, j: int) -> Value:
        """(mⱼ − mᵢ) / √(1 + πsᵢⱼ²/8)."""
        square = (spread[i] - spread[j]).square().sum()
        square = square + outside * float(((basis[i] - basis[j]) ** 2).sum())
        found: Value = (scores.column(j) - scores.column(i)) / (square * (np.pi / 8.0) + 1.0).sqrt()
        return found

    logs = []
    for i in range(k):
        terms = concat([x.fill(0.0, 1), *(scale_difference(i, j) for j in range(k) if j != i)])
        largest = terms.max()
        logs.append(-(largest + (terms - largest).exp().sum().log()))
    return concat(logs).softmax()
