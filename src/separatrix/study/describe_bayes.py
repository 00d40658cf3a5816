"""What pages show of Bayesian models: evidence, noise, and posteriors of coefficients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import stats

from separatrix.bayes.linear.base import BayesianLinearModel
from separatrix.bayes.logistic.bayesian_logistic_regression import BayesianLogisticRegression
from separatrix.bayes.process.classifier import GaussianProcessClassifier
from separatrix.bayes.process.intervals import Label, theta_labels
from separatrix.bayes.process.regressor import GaussianProcessRegressor
from separatrix.estimators.coefficient_inference import Inference
from separatrix.kernels import Fixed, Gaussian, Kernel
from separatrix.kernels.algebra import Product, Sum
from separatrix.rows.block import Floats
from separatrix.study.description import Evidence, ProcessFit, StoredRows


def evidence_of(core: Any) -> Evidence | None:
    """Log evidence and learned noise; None for a model that has no evidence."""
    if isinstance(core, BayesianLinearModel):
        return Evidence(float(core.log_evidence_), float(1.0 / np.sqrt(core.alpha_)))
    if isinstance(core, BayesianLogisticRegression):
        scale = f"prior scale {core.prior_scale_:.4g} log odds per standard deviation"
        return Evidence(float(core.log_evidence_), settings=scale)
    if isinstance(core, GaussianProcessClassifier):
        return Evidence(float(core.log_evidence_)) if len(core.binaries_) == 1 else None
    if isinstance(core, GaussianProcessRegressor):
        noise = [value for label, value in _hyperparameters(core) if "noise" in label.name]
        deviation = float(np.sqrt(sum(noise)) * core.target_scale_[0])
        return Evidence(float(core.log_evidence_), deviation)
    return None


def process_of(core: Any) -> ProcessFit | None:
    """The kernel and the length scales of a Gaussian process; None for any other model."""
    if isinstance(core, GaussianProcessClassifier):
        return _class_process(core)
    if not isinstance(core, GaussianProcessRegressor):
        return None
    found = {
        label.column: value
        for label, value in _hyperparameters(core)
        if label.column is not None and label.name.startswith("length scale")
    }
    fixed = _fixed_lengths(core.kernel_)
    if not found and fixed is not None and len(fixed) == len(core.encoding_.names):
        found = dict(zip(core.encoding_.names, fixed, strict=True))
    names = tuple(found)
    return ProcessFit(
        kernel_text(core.kernel_),
        names,
        np.array(list(found.values())),
        _length_intervals(core, names),
        None if core.inducing_ is None else len(core.inducing_.points),
        fixed is not None,
    )


def _class_process(core: GaussianProcessClassifier) -> ProcessFit:
    """The kernel of the first process; the length scales that a comparison fixed, where it did."""
    kernel = core.binaries_[0].kernel
    fixed, names = _fixed_lengths(kernel) or (), tuple(core.encoding_.names)
    shared = bool(fixed) and len(fixed) == len(names)
    lengths = np.array(fixed if shared else [])
    ends = np.full((len(lengths), 2), np.nan)
    return ProcessFit(kernel_text(kernel), names if shared else (), lengths, ends, None, shared)


def process_rows(core: GaussianProcessRegressor | GaussianProcessClassifier) -> StoredRows:
    """The training rows within a process: all, or the inducing points that stand for them."""
    if isinstance(core, GaussianProcessClassifier):
        n = max(one.stored_rows for one in core.binaries_)
    elif core.inducing_ is None:
        n = len(core.X_train_)
    else:
        state = core.inducing_
        return StoredRows(len(state.points), state.count, support_vectors=False)
    return StoredRows(n, n, support_vectors=False, every=False)


def kernel_text(kernel: Kernel) -> str:
    """The kinds of kernels in sums and products, without their numbers."""
    if isinstance(kernel, Sum | Product):
        joint = " + " if isinstance(kernel, Sum) else " × "
        return joint.join(kernel_text(part) for part in kernel.operands)
    if isinstance(kernel, Fixed):
        return kernel_text(kernel.kernel)
    return {"Constant": "variance", "White": "noise"}.get(
        type(kernel).__name__, type(kernel).__name__
    )


def _fixed_lengths(kernel: Kernel) -> tuple[float, ...] | None:
    """Length scales that a comparison fixed in proportion to the spread of their columns."""
    if isinstance(kernel, Fixed) and isinstance(kernel.kernel, Gaussian):
        lengths = kernel.kernel.bandwidth
        return lengths if isinstance(lengths, tuple) else None
    parts = kernel.operands if isinstance(kernel, Sum | Product) else ()
    return next((found for part in parts if (found := _fixed_lengths(part))), None)


def _hyperparameters(core: Any) -> list[tuple[Label, float]]:
    """Every learnable hyperparameter with what it is."""
    labels = theta_labels(core.kernel_, core.encoding_.names)
    return list(zip(labels, np.exp(core.kernel_.theta).tolist(), strict=True))


def _length_intervals(core: Any, names: tuple[str, ...]) -> Floats:
    """95 % intervals of length scales; NaN where they were not learned or are left open."""
    ends = dict.fromkeys(names, (np.nan, np.nan))
    if core.learned_ is not None:
        for found in core.hyperparameter_intervals(0.95):
            if found.column in ends and found.determined:
                ends[found.column] = (found.lower, found.upper)
    return np.array(list(ends.values())).reshape(len(names), 2)


def with_posterior(core: Any, found: Inference | None) -> Inference | None:
    """Posterior deviations and 95 % intervals of one vector of coefficients, where there are any.

    The p values are twice the posterior probability of the other sign.
    """
    if found is None or not isinstance(core, BayesianLogisticRegression):
        return found
    errors = np.ravel(np.asarray(core.coef_std_, dtype=float))
    line = _line(float(np.ravel(core.intercept_)[0]), float(np.ravel(core.intercept_std_)[0]))
    rows = np.array([_line(b, s) for b, s in zip(found.estimates, errors, strict=True)])
    return replace(
        found,
        intervals=rows[:, 4:],
        standard_errors=errors,
        t_values=rows[:, 2],
        p_values=rows[:, 3],
        intercept_row=tuple(line) if core.fit_intercept else None,
        reason="",
        letter="z",
    )


def _line(mean: float, deviation: float) -> list[float]:
    """Mean, deviation, their ratio, p, and the ends of the interval."""
    z = mean / deviation if deviation > 0 else np.nan
    half = float(stats.norm.isf(0.025)) * deviation
    return [mean, deviation, z, float(2 * stats.norm.sf(abs(z))), mean - half, mean + half]
