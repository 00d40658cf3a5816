"""What criteria of complexity read of a ridge path.

    log p(y | ρ) = ½ [n log n/(2π Q) − n − Σ log(1 + λ/ρ)]
    Q(ρ) = min over b of ‖y − Xb‖² + ρ‖b‖²

is the evidence of a normal prior of coefficients whose variance is that of the noise over ρ, at
the best noise variance Q/n.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.linear.ridge.spectrum import Spectrum
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.selection.criteria.figures import PathFigures
from separatrix.selection.rules import gaussian_log_likelihood

SHRUNKEN = "the closed form is that of least squares, and a penalty shrinks these coefficients."
CONSTANT = "the target is constant, so that the noise has no variance."
UNBOUNDED = (
    "with no fewer columns than rows it grows without bound as the noise vanishes: only points of "
    "at most n/2 degrees of freedom are compared."
)
FREEDOM = "effective degrees of freedom stand for the VC dimension, which penalties leave as it is."


def ridge_figures(model: Any, fold_errors: Floats | None) -> PathFigures:
    """Figures of a fitted path of one target."""
    spectrum: Spectrum = model.spectrum_
    if spectrum.cross.shape[1] != 1:
        raise InputError(
            f"Criteria compare models of one target, and there are {spectrum.cross.shape[1]}.",
            remedy="Fit a path to each of them.",
        )
    alphas, n = model.alphas_, spectrum.weight
    squares = spectrum.rss(alphas)[:, 0]
    freedom = spectrum.degrees_of_freedom(alphas) + int(model.fit_intercept)
    evidence, reasons = None, {"MDL": SHRUNKEN, "structural risk": FREEDOM}
    if spectrum.yy[0] > 0.0:
        evidence = log_evidence(spectrum, alphas)
        if np.count_nonzero(spectrum.values > spectrum.floor) + int(model.fit_intercept) >= n:
            evidence = np.where(freedom <= n / 2.0, evidence, np.nan)
            reasons["evidence"] = UNBOUNDED
    else:
        reasons["evidence"] = CONSTANT
    return PathFigures(
        "alpha",
        tuple(alphas.tolist()),
        alphas,
        n,
        freedom=freedom,
        log_likelihood=gaussian_log_likelihood(squares, n),
        others=1,
        squares=squares,
        log_evidence=evidence,
        fold_losses=fold_errors,
        reasons=reasons,
    )


def log_evidence(spectrum: Spectrum, alphas: Floats) -> Floats:
    """The evidence at every penalty, noise variance at its best; −∞ at a penalty of 0."""
    n, cross = spectrum.weight, spectrum.cross[:, 0]
    penalized = spectrum.yy[0] - cross**2 @ spectrum.inverse_eigenvalues(alphas)
    penalized = np.maximum(penalized, np.finfo(float).eps ** 2 * spectrum.yy[0])
    with np.errstate(divide="ignore"):
        spread = np.log1p(np.divide.outer(spectrum.values, alphas)).sum(axis=0)
    fit = n * (np.log(n / (2.0 * np.pi)) - np.log(penalized)) - n
    return np.asarray(0.5 * (fit - spread))
