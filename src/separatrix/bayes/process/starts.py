"""Where hyperparameters are looked for: around the data's own scales, in any units.

Length scales are measured in standard deviations of their columns, variances in mean squares of the
target. The box around them is so wide that its ends mean "no effect" or "rounding".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.bayes.process.evidence import TrainingRows
from separatrix.bayes.process.noise import function_entries
from separatrix.bayes.process.trust_region import Box
from separatrix.kernels import Kernel, Sum, natural_scales
from separatrix.rows.block import Floats

#: Half widths of the box, as logarithms: of length scales, of variances below and above, of others.
LENGTHS, SMALLER, LARGER, OTHERS = np.log([1e4, 1e10, 1e8, 1e4])
#: A column may not matter at all where its length scale is this many times its natural one.
VANISHING = float(np.log(5.0))


def target_square(rows: TrainingRows) -> float:
    """Mean square of the target about its trend; 1 where it is zero."""
    y, w = rows.y, rows.w
    if rows.basis.shape[1]:
        root = np.sqrt(w)[:, None]
        y = y - rows.basis @ np.linalg.lstsq(root * rows.basis, root * y, rcond=None)[0]
    square = float(np.average((y**2).mean(axis=1), weights=w))
    largest = float((rows.y**2).max(initial=0.0))
    return square if square > 1e-20 * largest and square > 0.0 else (largest or 1.0)


def natural_kernel(kernel: Kernel, rows: TrainingRows) -> Kernel:
    """The kernel with hyperparameters of the size of the data."""
    return natural_scales(kernel, rows.x, rows.w, target_square(rows))


def lengths(kernel: Kernel) -> np.ndarray:
    """Marks the entries of θ that are length scales."""
    return np.array([name.startswith("bandwidth") for name in kernel.theta_names], dtype=bool)


def box_around(natural: Kernel, *given: Floats) -> Box:
    """Ranges of θ around natural values, which contain the given points; given bounds hold."""
    center, is_length = natural.theta, lengths(natural)
    is_noise = ~function_entries(natural)
    is_variance = np.array(
        [
            name.startswith(("variance", "factor", "value", "constant"))
            for name in natural.theta_names
        ],
        dtype=bool,
    )
    below = np.where(is_length, LENGTHS, np.where(is_variance | is_noise, SMALLER, OTHERS))
    above = np.where(is_length, LENGTHS, np.where(is_variance | is_noise, LARGER, OTHERS))
    low = np.min([center - below, *given], axis=0)
    high = np.max([center + above, *given], axis=0)
    bounds = natural.bounds
    bounded = np.array([p.bounded or not p.positive for p in natural._continuous()], dtype=bool)
    low = np.where(bounded, bounds[:, 0], low)
    high = np.where(bounded, bounds[:, 1], high)
    plateau = is_length & ~bounded
    return Box(low, high, np.where(plateau, center + VANISHING, np.inf))


@dataclass(frozen=True)
class RadialTerm:
    """A term of a sum with a length scale: where in θ it and its variance are, and of what kind."""

    length: int
    variance: int | None
    kind: Kernel


def radial_terms(kernel: Kernel) -> list[RadialTerm]:
    """The terms of a sum that have one length scale for all columns, or are not sums: none."""
    found: list[RadialTerm] = []
    at = 0
    for term in kernel.operands if isinstance(kernel, Sum) else ():
        names = [name for name, p in term._hyperparameters() if p.continuous]
        if "bandwidth" in names:
            variances = [i for i, name in enumerate(names) if name in ("constant", "factor")]
            variance = at + variances[0] if variances else None
            kind = term.with_theta(np.zeros(len(names)))
            found.append(RadialTerm(at + names.index("bandwidth"), variance, kind))
        at += len(names)
    return found


def exchanged(kernel: Kernel, theta: Floats) -> list[Floats]:
    """θ with the length scales and variances of two different terms of a sum exchanged.

    Two terms can play each other's part, and an evidence has a maximum for either cast.
    """
    terms, found = radial_terms(kernel), []
    for i, one in enumerate(terms):
        for other in terms[:i]:
            if one.kind != other.kind:
                swapped = theta.copy()
                swapped[[one.length, other.length]] = theta[[other.length, one.length]]
                if one.variance is not None and other.variance is not None:
                    pair = [one.variance, other.variance]
                    swapped[pair] = theta[pair[::-1]]
                found.append(swapped)
    return found


def data_starts(natural: Kernel) -> list[Floats]:
    """From the data's scales; then functions that vary fast with little noise; then the reverse."""
    center, is_length = natural.theta, lengths(natural)
    is_noise = ~function_entries(natural)
    fast = center - np.log(3.0) * is_length - np.log(30.0) * is_noise
    slow = center + np.log(3.0) * is_length + np.log(5.0) * is_noise
    return [center, fast, slow]
