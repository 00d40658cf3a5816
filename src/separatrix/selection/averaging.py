"""Weights of an average of models: non-negative, from out-of-fold predictions.

    linear pool of classes:       min over a of −Σ w log Σₘ aₘ pₘ(true class),        Σ a = 1
    logarithmic pool of classes:  min over a of −Σ w log p(true class),   p ∝ exp Σₘ aₘ log pₘ
    numbers:                      min over a of  Σ w (y − Σₘ aₘ ŷₘ)²,                 Σ a = 1

All are convex: the first two are solved by projected Newton steps, the last by non-negative least
squares. Over the simplex f(a) − f* ≤ max over m of ⟨∇f(a), a − eₘ⟩ bounds what is left to gain.
Without folds, models are weighted by their evidence, or by exp(−AICc/2), which stands for it
(Akaike weights).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.special import logsumexp, softmax

from separatrix.arrays import Floats, Ints
from separatrix.messages import InputError
from separatrix.selection.criteria import corrected_aic, fit_figures_of
from separatrix.selection.folds import SMALLEST


@dataclass(frozen=True)
class Average:
    """Weights by model, the objective (a mean over rows), and a bound on what is left to gain.

    The bound is None of weights that are not meant to minimize anything. ``pool`` says what is
    averaged: predictions ("linear"), or logarithms of probabilities ("logarithmic").
    """

    weights: Floats
    value: float
    gap: float | None
    pool: str = "linear"

    def of(self, predictions: Floats) -> Floats:
        """The average of predictions (models x rows …)."""
        if self.pool == "linear":
            return np.asarray(np.tensordot(self.weights, predictions, 1))
        logs = np.log(np.maximum(predictions, LEAST_PROBABILITY))
        return np.asarray(softmax(np.tensordot(self.weights, logs, 1), axis=1))


#: What a probability counts for at least in a logarithmic pool: no model alone rules out a class.
LEAST_PROBABILITY = 1e-6
#: Relative gap at which weights are optimal.
TOLERANCE = 1e-7


def log_loss_average(probabilities: Floats, w: Floats) -> Average:
    """The mixture of least log loss; ``probabilities`` of the true class, rows x models.

    Over a ≥ 0 alone, −Σ w log (p a) + Σ a has the same minimum, whose sum is one. Its gradient is
    1 − Gᵀ w and its Hessian Gᵀ diag(w) G with G = p / (p a).
    """
    p, share = np.maximum(probabilities, SMALLEST), w / w.sum()

    def loss(a: Floats) -> float:
        return float(a.sum() - share @ np.log(np.maximum(p @ a, SMALLEST)))

    def derivatives(a: Floats) -> tuple[Floats, Floats]:
        ratio = p / (p @ a)[:, None]
        return 1.0 - share @ ratio, ratio.T @ (share[:, None] * ratio)

    a = _minimize(p.shape[1], loss, derivatives)
    a /= a.sum()
    gains = share @ (p / (p @ a)[:, None])
    return Average(a, float(-share @ np.log(p @ a)), float(max(gains.max() - 1.0, 0.0)))


def logarithmic_pool(probabilities: Floats, truth: Ints, w: Floats) -> Average:
    """The logarithmic pool of least log loss; ``probabilities`` are models x rows x classes.

    With d = log p − log p(true class) the loss of a row is log Σₖ exp ⟨a, dₖ⟩. Weights that sum to
    more than one sharpen what the models agree on. The bound on what is left to gain is that among
    weights of at most twice their sum, or two.
    """
    logs = np.log(np.maximum(probabilities, LEAST_PROBABILITY))
    d = logs - logs[:, np.arange(len(truth)), truth][..., None]
    share = w / w.sum()

    def loss(a: Floats) -> float:
        return float(share @ logsumexp(np.tensordot(a, d, 1), axis=1))

    def derivatives(a: Floats) -> tuple[Floats, Floats]:
        q = d * softmax(np.tensordot(a, d, 1), axis=1)
        mean = q.sum(axis=2)
        second = np.tensordot(q * share[:, None], d, ((1, 2), (1, 2)))
        return mean @ share, second - (mean * share) @ mean.T

    a = _minimize(len(d), loss, derivatives)
    gap = _left_to_gain(a, derivatives(a)[0])
    return Average(a, loss(a), gap, "logarithmic")


def _left_to_gain(a: Floats, gradient: Floats) -> float:
    """Largest ⟨∇f(a), a − b⟩ over b ≥ 0 whose sum is at most twice that of a, or two."""
    most = 2.0 * max(float(a.sum()), 1.0)
    return max(float(gradient @ a) + most * max(-float(gradient.min()), 0.0), 0.0)


def _minimize(
    m: int,
    loss: Callable[[Floats], float],
    derivatives: Callable[[Floats], tuple[Floats, Floats]],
) -> Floats:
    """The m weights of least loss among those that are not negative.

    Each step solves the quadratic model g·s + ½ sᵀHs over a + s ≥ 0, by non-negative least squares,
    and is halved until the loss falls.
    """
    a = np.full(m, 1.0 / m)
    for _ in range(100):  # steps at most; a dozen are usual
        gradient, hessian = derivatives(a)
        if _left_to_gain(a, gradient) <= TOLERANCE:
            break
        # models of equal predictions make it singular
        hessian[np.diag_indices(m)] += 1e-12 * max(np.trace(hessian), SMALLEST)
        factor = np.linalg.cholesky(hessian)
        target = np.linalg.solve(factor, hessian @ a - gradient)
        step = nnls(factor.T, target)[0] - a
        value = loss(a)
        while loss(a + step) > value:
            step *= 0.5
            if np.abs(step).max() < 1e-15:
                break
        a = np.maximum(a + step, 0.0)
    return a


def squared_error_average(predictions: Floats, y: Floats, w: Floats) -> Average:
    """The average of least squared error; ``predictions`` are rows x models."""
    share = w / w.sum()
    root = np.sqrt(share)[:, None]
    # residuals of each model: with weights that sum to one, those of the average are their average
    residuals = root * (predictions - y[:, None])
    # Weight of the row that asks for a sum of one, in norms of the other rows.
    heavy = 1e5 * (float(np.linalg.norm(residuals)) or 1.0)
    rows = np.vstack([residuals, np.full((1, residuals.shape[1]), heavy)])
    a, _ = nnls(rows, np.append(np.zeros(len(residuals)), heavy))
    a = a / a.sum()
    error = residuals @ a
    slope = 2.0 * residuals.T @ error
    return Average(a, float(error @ error), float(max(slope @ a - slope.min(), 0.0)))


def equal_average(losses: Floats, w: Floats) -> Average:
    """Equal weights for models as good as the best; ``losses`` are rows x models.

    These are the best five, those apart that are worse than the best by more than two standard
    errors of the difference. Where rows are few, weights that minimize a loss follow chance, and
    the choice of one model does so still more.
    """
    share = w / w.sum()
    means = share @ losses
    order = np.argsort(means, kind="stable")[:5]  # enough of them to cancel errors
    apart = losses[:, order] - losses[:, order[:1]]
    mean = share @ apart
    errors = np.sqrt(share**2 @ (apart - mean) ** 2)
    alike = order[mean <= 2.0 * errors]
    weights = np.zeros(losses.shape[1])
    weights[alike] = 1.0 / len(alike)
    return Average(weights, float("nan"), None)


def evidence_weights(log_evidence: Any, prior_weights: Any = None) -> Floats:
    """Probabilities of models, ∝ exp(log evidence) times their prior weights; they sum to one."""
    values = np.asarray(log_evidence, dtype=float)
    if not (values < np.inf).all() or not np.isfinite(values).any():
        raise InputError("A model has no finite evidence.", remedy="Leave it out.")
    prior = np.ones(len(values)) if prior_weights is None else np.asarray(prior_weights, float)
    if prior.shape != values.shape or not (prior >= 0.0).all() or not 0.0 < prior.sum() < np.inf:
        raise InputError(
            f"prior_weights={prior_weights!r} must hold a number of 0 or more for each of "
            f"{len(values)} models, some above 0."
        )
    with np.errstate(divide="ignore"):
        logs = values + np.log(prior)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def log_evidences(models: Sequence[Any]) -> Floats:
    """The log evidence of every fitted model; refuses one that has none."""
    return np.array([_log_evidence(model) for model in models])


def _log_evidence(model: Any) -> float:
    try:
        value = float(model.log_evidence_)
    except AttributeError as reason:
        why = "" if "no attribute 'log_evidence_'" in str(reason) else f": {reason}"
        raise InputError(
            f"{type(model).__name__} has no evidence{why}.",
            remedy="Use a Bayesian model, or weights by stacking (ModelAverage).",
        ) from reason
    bounded = getattr(model, "n_inducing", None) is not None
    low, high = getattr(model, "evidence_bounds_", (value, np.inf if bounded else value))
    if high - low > 0.1:  # difference of the bounds of a log evidence up to which it has a weight
        raise InputError(
            f"{type(model).__name__} knows its log evidence between {low:.6g} and {high:.6g} only, "
            "and a weight by it would be arbitrary.",
            remedy="Use more inducing points, or n_inducing=None.",
        )
    return value


def corrected_aics(models: Sequence[Any]) -> Floats:
    """AICc of every fitted model; refuses one without likelihood and degrees of freedom."""
    figures = []
    for model in models:
        fit_figures = fit_figures_of(model)
        if fit_figures is None:
            raise InputError(
                f"{type(model).__name__} has no likelihood with degrees of freedom, and so no AIC.",
                remedy='Leave it out, or use weights="stacking".',
            )
        figures.append(fit_figures)
    n = np.array([f.n for f in figures])
    if not np.allclose(n, n[0], rtol=1e-9):
        raise InputError(
            f"The models are fitted to {n.min():g} and {n.max():g} rows, and criteria compare "
            "models of the same rows.",
            remedy="Fit all of them to the same rows.",
        )
    likelihoods = np.array([f.log_likelihood for f in figures])
    freedom = np.array([f.freedom + f.others for f in figures])
    return corrected_aic(likelihoods, freedom, float(n[0]))
