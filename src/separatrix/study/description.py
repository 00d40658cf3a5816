"""The chosen model as plain data: all that pages and printers show of it.

Records only: :mod:`separatrix.study.describe` fills them in from a fitted estimator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from separatrix.arrays import Floats, Ints
from separatrix.estimators.inference import Inference
from separatrix.optimize.convex import Certificate


@dataclass(frozen=True)
class ClassCoefficients:
    """Coefficients of several outputs: ``estimates`` (outputs x terms) and their intercepts."""

    names: tuple[str, ...]
    estimates: Floats
    intercepts: Floats


@dataclass(frozen=True)
class OddsRatios:
    """Maximum likelihood inference of a logistic regression, one line for each coefficient.

    Intercepts are among the lines; with more than two classes, each is compared with ``reference``.
    The terms of ``no_finite_estimate`` separate rows of one class from all others.
    """

    names: tuple[str, ...]
    estimates: Floats
    standard_errors: Floats
    z_values: Floats
    p_values: Floats
    intervals: Floats
    reference: str
    likelihood_ratio: float
    degrees_of_freedom: int
    pseudo_r_squared: float
    likelihood_ratio_p: float = float("nan")
    aic: float = float("nan")
    bic: float = float("nan")
    no_finite_estimate: tuple[str, ...] = ()


@dataclass(frozen=True)
class RegularizationPath:
    """Coefficients (penalties x terms) along the penalty.

    ``alpha`` is the penalty of the model itself, None where it has none. ``errors`` are mean
    squared errors on the folds (penalties x folds), None where the path was not cross-validated.
    """

    alphas: Floats
    coefs: Floats
    alpha: float | None = None
    errors: Floats | None = None


@dataclass(frozen=True)
class StoredRows:
    """Training rows that are part of the model: all, its support vectors, or inducing points.

    ``every`` is false where equal rows are stored once, or a part of many rows was taken.
    """

    count: int
    total: int
    support_vectors: bool
    every: bool = True

    def __str__(self) -> str:
        if not self.support_vectors and self.count < self.total:
            return f"{self.count} inducing points, chosen among {self.total} training rows"
        if not self.support_vectors:
            return f"{'all ' if self.every else ''}{self.count} training rows"
        return f"{self.count} support vectors, of {self.total} training rows"


@dataclass(frozen=True)
class SVMSearch:
    """The search for C (and the bandwidth of the RBF kernel, and ε) of a support vector machine.

    ``scores`` (values of C x folds) are out-of-fold losses at the chosen bandwidth, log loss or
    squared error; ``n_support`` counts support vectors at each of ``Cs``, among ``n_rows`` rows.
    """

    C: float
    Cs: Floats
    scores: Floats
    n_support: Floats
    n_rows: int
    n_bandwidths: int
    bandwidth: float | None = None
    epsilon: float | None = None


@dataclass(frozen=True)
class BinarySVMFit:
    """One binary (or regression) SVM within the model; ``n_support`` is None if not counted."""

    certificate: Certificate
    n_support: int | None = None


@dataclass(frozen=True)
class NeighborSearch:
    """The number of neighbors, the leave-one-out error of each number, distances between rows.

    ``error`` is the error rate or the mean squared error. ``distances`` is a sample of those
    between training rows, ``spread`` their deviation over their mean, ``nearest`` the median
    distance to the nearest neighbor over that mean.
    """

    n_neighbors: int
    counts: Ints
    error: Floats
    standard_error: Floats
    distances: Floats
    spread: float
    nearest: float


@dataclass(frozen=True)
class Evidence:
    """What a Bayesian model was learned by: its log evidence, and the deviation of the noise.

    ``noise`` is None for classes; ``settings`` are other learned hyperparameters, in words.
    """

    log_evidence: float
    noise: float | None = None
    settings: str = ""


@dataclass(frozen=True)
class ProcessFit:
    """A Gaussian process: its kernel, and a length scale for each column (or one for all).

    ``length_scales`` are in the units of the columns; ``intervals`` (95 %, by the curvature of the
    log evidence) are not finite where the data leave them open, or where they were not learned from
    all rows. ``shared`` says that one length scale, in standard deviations, is that of all columns.
    ``n_inducing`` is None for an exact process.
    """

    kernel: str
    names: tuple[str, ...]
    length_scales: Floats
    intervals: Floats
    n_inducing: int | None = None
    shared: bool = False


@dataclass(frozen=True)
class ModelDescription:
    """What pages and printers show of a fitted model.

    ``name`` is the class of the model beneath calibration and rejection, ``wrapped`` whether there
    is either; ``parameters`` are those of the whole model, nested models as dictionaries.
    ``inference`` is None without a single vector of coefficients; ``class_coefficients`` without
    several. ``scale`` is the standard deviation of each term, where the model knows it.
    ``log_odds`` says that a coefficient is a change of log odds. ``reference_levels`` have no
    coefficient of their own, by column; ``left_out`` says which columns have none, and why.
    ``evidence`` is that of a Bayesian model, whose intervals of coefficients are credible ones.
    ``rules`` are the boxes of classes in words.
    """

    name: str
    parameters: dict[str, Any]
    certificate: Certificate
    wrapped: bool = False
    inference: Inference | None = None
    class_coefficients: ClassCoefficients | None = None
    odds: OddsRatios | None = None
    path: RegularizationPath | None = None
    scale: Floats | None = None
    log_odds: bool = False
    stored_rows: StoredRows | None = None
    svm_search: SVMSearch | None = None
    svms: tuple[BinarySVMFit, ...] = ()
    neighbors: NeighborSearch | None = None
    evidence: Evidence | None = None
    process: ProcessFit | None = None
    reference_levels: dict[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()

    @property
    def coefficients(self) -> Floats | None:
        """One vector, or one row for each output; None for a model that is not linear."""
        if self.inference is not None:
            return self.inference.estimates
        return None if self.class_coefficients is None else self.class_coefficients.estimates
