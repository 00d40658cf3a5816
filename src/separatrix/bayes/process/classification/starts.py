"""Where hyperparameters of a process of classes are looked for; rows with noise of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from separatrix.bayes.process.classification.search import Search
from separatrix.bayes.process.noise import SplitKernel
from separatrix.bayes.process.starts import box_around, data_starts, lengths
from separatrix.bayes.process.trust_region import Box
from separatrix.kernels import Kernel, natural_scales
from separatrix.kernels.base import Items, take_items
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints

#: Rows for each column below which all length scales of the default kernel have one factor.
ROWS_A_LENGTH = 10
#: Variance of f where the search begins, and how many times that it may become (as a logarithm).
LATENT_VARIANCE, LARGEST = 4.0, float(np.log(1e4))


def search_of(
    kernel: Kernel,
    x: Items,
    w: Floats,
    given: Sequence[Floats],
    further: tuple[int, Any],
    optimizer: Any,
    *,
    tie: bool,
) -> Search:
    """Starts from the data's scales, from given values, and at random (how many, and the seed).

    With ``tie`` length scales have one factor where rows are few.
    """
    natural = natural_scales(kernel, x, w, LATENT_VARIANCE)
    first, fast, slow = data_starts(natural)
    count, seed = further
    rng = check_random_state(seed)
    spread = [first + rng.uniform(-3.0, 3.0, len(first)) for _ in range(count)]
    box = limited(box_around(natural, first, *given), natural, *given)
    if tie and w.sum() < ROWS_A_LENGTH * lengths(natural).sum():
        return tied_lengths(natural, lengths(natural), box)
    if optimizer is not None and given:
        return Search([*given, *spread], box, optimizer)
    return Search([*given, first, *spread, fast, slow], box, optimizer)


def tied_lengths(natural: Kernel, is_length: np.ndarray, box: Box) -> Search:
    """One factor for all length scales in place of one for each, where rows are few."""
    theta = natural.theta
    directions = np.eye(len(theta))[:, ~is_length]
    directions = np.column_stack([directions, is_length.astype(float)])
    low, high = box.low - theta, box.high - theta
    low = np.append(low[~is_length], low[is_length].max())
    high = np.append(high[~is_length], high[is_length].min())
    zero = np.zeros(len(low))
    shift = np.where(np.arange(len(low)) == len(low) - 1, np.log(3.0), 0.0)
    return Search([zero, zero - shift, zero + shift], Box.of(low, high), None, theta, directions)


def limited(box: Box, natural: Kernel, *given: Floats) -> Box:
    """The box without kernels so large that probabilities are 0 and 1 but for rounding."""
    most = natural.theta + LARGEST
    for one in given:
        most = np.maximum(most, one)
    return Box(
        box.low, np.where(lengths(natural), box.high, np.minimum(box.high, most)), box.vanishing
    )


def single_rows(kernel: Kernel, x: Items, codes: Ints, w: Floats) -> tuple[Items, Ints, Floats]:
    """Rows with weights; with white noise in f every copy of a row has an f of its own."""
    if not SplitKernel(kernel).has_noise or (w == 1.0).all():
        return x, codes, w
    if (w != np.round(w)).any():
        raise InputError(
            "With White() in the kernel every row has latent noise of its own, and weights that "
            "are no whole numbers have no meaning.",
            remedy="Leave White() out: a classifier needs no noise.",
        )
    copies = np.repeat(np.arange(len(w)), w.astype(int))
    return take_items(x, copies), codes[copies], np.ones(len(copies))
