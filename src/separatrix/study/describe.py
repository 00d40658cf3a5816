"""A fitted estimator as a :class:`ModelDescription`: the one place that looks into estimators.

It reads their fitted attributes and never their classes: whatever has coefficients, support
vectors, a path of penalties or an evidence is described by them, wherever it comes from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import stats

from separatrix.arrays import Floats, Ints
from separatrix.distances.axioms import distance_concentration
from separatrix.estimators.inference import Inference, SupportsEncoding, inference, names_of
from separatrix.estimators.linear_classifier import ProbabilisticLinearClassifier
from separatrix.estimators.wrapped import WrappedClassifier
from separatrix.kernels import Fixed, Gaussian, Kernel
from separatrix.kernels.algebra import Product, Sum
from separatrix.messages import InputError
from separatrix.mixins import BaseEstimator
from separatrix.rows.schema import n_items
from separatrix.statistics.moments import Moments
from separatrix.study import description
from separatrix.study.design import thin


def core_of(model: Any) -> Any:
    """The model beneath calibration and rejection: the one with coefficients or densities."""
    while isinstance(model, WrappedClassifier):
        model = model.estimator_
    return model


def describe(model: Any) -> description.ModelDescription:
    """Everything that pages and printers show of a fitted model."""
    core = core_of(model)
    linear = hasattr(core, "coef_")
    inferred = with_posterior(core, inference(core)) if linear else None
    return description.ModelDescription(
        name=type(core).__name__,
        parameters=_parameters(model),
        certificate=model.certificate_,
        wrapped=core is not model,
        inference=None if inferred is None else _without_rows(inferred),
        class_coefficients=_class_coefficients(core) if linear and inferred is None else None,
        odds=_odds(core),
        path=_path(core),
        scale=_scale(core),
        log_odds=isinstance(core, ProbabilisticLinearClassifier) and hasattr(core, "predict_proba"),
        stored_rows=stored_rows(core),
        svm_search=_svm_search(core),
        svms=_svms(core),
        neighbors=_neighbors(core),
        evidence=evidence_of(core),
        process=process_of(core),
        reference_levels=_reference_levels(core),
        left_out=_left_out(core),
        rules=tuple(core.describe().splitlines()) if hasattr(core, "describe") else (),
    )


def _parameters(model: BaseEstimator) -> dict[str, Any]:
    """Constructor parameters; a model among them as its class and its own parameters."""
    return {
        name: {"class": type(value).__name__, "parameters": _parameters(value)}
        if isinstance(value, BaseEstimator)
        else _storable(value)
        for name, value in model.get_params(deep=False).items()
    }


def _has(core: Any, *names: str) -> bool:
    """Whether a model has all of these attributes, read in order until one is absent."""
    return all(hasattr(core, name) for name in names)


def _storable(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _without_rows(inference: Inference) -> Inference:
    """The same without arrays as long as the training rows, which the study has elsewhere."""
    return replace(inference, residuals=None, fitted=None, leverage=None, cooks_distance=None)


def _class_coefficients(core: Any) -> description.ClassCoefficients:
    coef = np.atleast_2d(np.asarray(core.coef_, dtype=float))
    intercepts = np.ravel(np.asarray(core.intercept_, dtype=float))
    return description.ClassCoefficients(names_of(core, coef.shape[1]), coef, intercepts)


def _odds(core: Any) -> description.OddsRatios | None:
    if not _has(core, "classes_", "coef_", "summary"):
        return None
    try:
        summary = core.summary()
    except InputError:
        return None
    if not hasattr(summary, "likelihood_ratio"):
        return None
    return description.OddsRatios(
        tuple(str(name) for name in summary.names),
        summary.estimates,
        summary.standard_errors,
        summary.z_values,
        summary.p_values,
        summary.intervals,
        str(summary.reference),
        float(summary.likelihood_ratio),
        int(summary.degrees_of_freedom),
        float(summary.pseudo_r_squared),
        float(summary.likelihood_ratio_p),
        float(summary.aic),
        float(summary.bic),
        summary.no_finite_estimate,
    )


def _reference_levels(core: Any) -> dict[str, str]:
    """The level of each discrete column that the others are compared with."""
    if not isinstance(core, SupportsEncoding):
        return {}
    several = {term.column for term in core.encoding_.terms}
    return {c: level for c, level in core.encoding_.reference_levels.items() if c in several}


def _left_out(core: Any) -> tuple[str, ...]:
    """Why columns have no coefficient: no value, one level alone, or constant."""
    if not isinstance(core, SupportsEncoding):
        return ()
    encoding = core.encoding_
    several = {term.column for term in encoding.terms}
    single = [
        f"Column {column!r} is left out: {level!r} is its only level in the training rows."
        for column, level in encoding.reference_levels.items()
        if column not in several
    ]
    return (*encoding.notes, *single)


def _scale(core: Any) -> Floats | None:
    """The standard deviation of each term, by the moments that the model was fitted to."""
    moments = getattr(core, "moments_", None)
    if not isinstance(moments, Moments):
        return None
    return np.asarray(np.sqrt(np.diag(moments.xx) / moments.weight))


def _path(core: Any) -> description.RegularizationPath | None:
    """The path of a model that tuned its penalty; of classes, that of two: 1/C is the penalty."""
    if _has(core, "alphas_", "coefs_", "alpha_"):
        errors = getattr(core, "mse_path_", None)
        return description.RegularizationPath(core.alphas_, core.coefs_, float(core.alpha_), errors)
    if _has(core, "Cs_", "coefs_", "C_", "classes_") and len(core.classes_) == 2:
        coefs = np.reshape(core.coefs_, (len(core.Cs_), -1))
        return description.RegularizationPath(1.0 / np.asarray(core.Cs_), coefs, 1.0 / core.C_)
    return None


def stored_rows(core: Any) -> description.StoredRows | None:
    """The training rows within a model; None for one that has none."""
    if hasattr(core, "points_") and not hasattr(core, "exemplar"):
        n = n_items(core.points_)
        return description.StoredRows(n, n, support_vectors=False)
    if hasattr(core, "binaries_") or hasattr(core, "X_train_"):
        return process_rows(core)
    if _has(core, "kernel_", "svms_"):
        return description.StoredRows(
            len(np.unique(core.support_)), core.n_samples_fit_, support_vectors=True
        )
    count = _rows_within(core)
    return (
        description.StoredRows(count, count, support_vectors=False, every=False) if count else None
    )


def _rows_within(core: Any) -> int:
    """Training rows that are centers of a kernel or nodes, or that bound the region of a class."""
    if hasattr(core, "X_fit_"):
        return n_items(core.X_fit_)
    if hasattr(core, "expansion_"):
        return n_items(core.expansion_.centers)
    if hasattr(core, "nodes_"):
        return len(core.nodes_)
    if hasattr(core, "support_points_"):
        return sum(map(len, core.support_points_))
    each = (space if isinstance(space, list) else [space] for space in getattr(core, "spaces_", ()))
    bounding = sum(len(space.negatives) for spaces in each for space in spaces)
    return min(bounding, getattr(core, "n_samples_fit_", bounding))


def _svm_search(core: Any) -> description.SVMSearch | None:
    if not _has(core, "C_", "n_support_path_"):
        return None
    return description.SVMSearch(
        float(core.C_),
        core.Cs_,
        core.score_path_,
        np.asarray(core.n_support_path_, dtype=float),
        int(core.n_search_rows_),
        len(core.bandwidths_),
        float(core.bandwidth_) if hasattr(core, "bandwidth_") else None,
        float(core.epsilon_) if hasattr(core, "epsilon_") else None,
    )


def _svms(core: Any) -> tuple[description.BinarySVMFit, ...]:
    if hasattr(core, "certificates_"):  # a linear one, whose support vectors are not computed
        return tuple(description.BinarySVMFit(certificate) for certificate in core.certificates_)
    svms = getattr(core, "svms_", ())
    return tuple(description.BinarySVMFit(svm.certificate, len(svm.support)) for svm in svms)


def _neighbors(core: Any) -> description.NeighborSearch | None:
    if not _has(core, "points_", "n_neighbors_", "leave_one_out"):
        return None
    counts, error, deviation = _errors_by_count(core)
    try:
        concentration = distance_concentration(core.points_, core.metric_)
        distances, spread, nearest = (
            concentration.distances,
            concentration.spread,
            concentration.nearest,
        )
    except InputError:  # too few rows to have a distribution of distances
        distances, spread, nearest = np.zeros(0), np.nan, np.nan
    # Distances between rows that are stored with a study, at most.
    return description.NeighborSearch(
        int(core.n_neighbors_),
        counts,
        error,
        deviation,
        thin(distances, 5_000),
        spread,
        nearest,
    )


def _errors_by_count(core: Any) -> tuple[Ints, Floats, Floats]:
    """Leave-one-out errors of every number of neighbors; none for weights that are not counts.

    Of many rows, those alone that were computed to choose the number.
    """
    none = np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
    # Rows of which all pairs are compared for the page alone.
    if not hasattr(core, "leave_one_out_") and core.n_samples_fit_ > 10_000:
        return none
    try:
        leave_one_out = (
            core.leave_one_out_ if hasattr(core, "leave_one_out_") else core.leave_one_out()
        )
    except InputError:
        return none
    return leave_one_out.n_neighbors, leave_one_out.error, leave_one_out.standard_error


# -------------------------------------------------------------------------------------------------
# What pages show of Bayesian models: evidence, noise, and posteriors of coefficients.


def evidence_of(core: Any) -> description.Evidence | None:
    """Log evidence and learned noise; None for a model that has no evidence."""
    if not hasattr(core, "log_evidence_"):
        return None
    if hasattr(core, "prior_scale_"):
        scale = f"prior scale {core.prior_scale_:.4g} log odds per standard deviation"
        return description.Evidence(float(core.log_evidence_), settings=scale)
    if hasattr(core, "binaries_"):
        return description.Evidence(float(core.log_evidence_)) if len(core.binaries_) == 1 else None
    if hasattr(core, "kernel_"):
        noise = [value for label, value in _hyperparameters(core) if "noise" in label.name]
        deviation = float(np.sqrt(sum(noise)) * core.target_scale_[0])
        return description.Evidence(float(core.log_evidence_), deviation)
    if _has(core, "coef_", "alpha_"):
        return description.Evidence(float(core.log_evidence_), float(1.0 / np.sqrt(core.alpha_)))
    return description.Evidence(float(core.log_evidence_))


def process_of(core: Any) -> description.ProcessFit | None:
    """The kernel and the length scales of a Gaussian process; None for any other model."""
    if hasattr(core, "binaries_"):
        return _class_process(core)
    if not _has(core, "kernel_", "X_train_"):
        return None
    lengths = {
        label.column: value
        for label, value in _hyperparameters(core)
        if label.column is not None and label.name.startswith("length scale")
    }
    fixed = _fixed_lengths(core.kernel_)
    if not lengths and fixed is not None and len(fixed) == len(core.encoding_.names):
        lengths = dict(zip(core.encoding_.names, fixed, strict=True))
    names = tuple(lengths)
    return description.ProcessFit(
        kernel_text(core.kernel_),
        names,
        np.array(list(lengths.values())),
        _length_intervals(core, names),
        None if core.inducing_ is None else len(core.inducing_.points),
        fixed is not None,
    )


def _class_process(core: Any) -> description.ProcessFit:
    """The kernel of the first process; the length scales that a comparison fixed, where it did."""
    kernel = core.binaries_[0].kernel
    fixed, names = _fixed_lengths(kernel) or (), tuple(core.encoding_.names)
    shared = bool(fixed) and len(fixed) == len(names)
    lengths = np.array(fixed if shared else [])
    ends = np.full((len(lengths), 2), np.nan)
    return description.ProcessFit(
        kernel_text(kernel), names if shared else (), lengths, ends, None, shared
    )


def process_rows(core: Any) -> description.StoredRows:
    """The training rows within a process: all, or the inducing points that stand for them."""
    if hasattr(core, "binaries_"):
        n = max(binary.stored_rows for binary in core.binaries_)
    elif core.inducing_ is None:
        n = len(core.X_train_)
    else:
        state = core.inducing_
        return description.StoredRows(len(state.points), state.count, support_vectors=False)
    return description.StoredRows(n, n, support_vectors=False, every=False)


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


def _hyperparameters(core: Any) -> list[tuple[Any, float]]:
    """Every learnable hyperparameter with what it is."""
    from separatrix.bayes.gaussian_process.fitting import theta_labels

    labels = theta_labels(core.kernel_, core.encoding_.names)
    return list(zip(labels, np.exp(core.kernel_.theta).tolist(), strict=True))


def _length_intervals(core: Any, names: tuple[str, ...]) -> Floats:
    """95 % intervals of length scales; NaN where they were not learned or are left open."""
    ends = dict.fromkeys(names, (np.nan, np.nan))
    if core.learned_ is not None:
        for hyperparameter_interval in core.hyperparameter_intervals(0.95):
            if hyperparameter_interval.column in ends and hyperparameter_interval.determined:
                ends[hyperparameter_interval.column] = (
                    hyperparameter_interval.lower,
                    hyperparameter_interval.upper,
                )
    return np.array(list(ends.values())).reshape(len(names), 2)


def with_posterior(core: Any, inference: Inference | None) -> Inference | None:
    """Posterior deviations and 95 % intervals of one vector of coefficients, where there are any.

    The p values are twice the posterior probability of the other sign.
    """
    if inference is None or not _has(core, "classes_", "coef_std_"):
        return inference
    errors = np.ravel(np.asarray(core.coef_std_, dtype=float))
    line = _line(float(np.ravel(core.intercept_)[0]), float(np.ravel(core.intercept_std_)[0]))
    rows = np.array([_line(b, s) for b, s in zip(inference.estimates, errors, strict=True)])
    return replace(
        inference,
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
