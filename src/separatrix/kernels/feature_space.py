"""Distances and angles in the feature space of a kernel, from kernel values alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.kernels.base import Array, Items
from separatrix.kernels.names import kernel_from


def kernel_distance(
    kernel: Any,
    x: Items,
    z: Items | None = None,
    *,
    gamma: str | float = "scale",
    degree: int = 3,
    coef0: float = 0.0,
) -> Array:
    """Euclidean distances in the feature space of a kernel.

        ‖φ(x) − φ(z)‖ = √(κ(x, x) − 2 κ(x, z) + κ(z, z))

    Parameters
    ----------
    kernel : Kernel, str or callable
        κ: a kernel, scikit-learn's name of one, or a function of two matrices.
    x : array-like or list
        Items.
    z : array-like or list, optional
        Other items; x again if left out.
    gamma : "scale", "auto" or float, default="scale"
        As in scikit-learn, for a kernel given by name.
    degree : int, default=3
        As in scikit-learn, for ``kernel="poly"``.
    coef0 : float, default=0.0
        As in scikit-learn, for "poly" and "sigmoid".

    Returns
    -------
    array of shape (len x, len z)
        Distances of all pairs.

    See Also
    --------
    kernel_cosine : cosines instead of distances.
    KernelDistance : the same as a metric.

    References
    ----------
    B. Schölkopf and A. J. Smola, Learning with Kernels, MIT Press, 2002.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.kernel_distance("linear", [[0.0, 0.0], [3.0, 4.0]])
    array([[0., 5.],
           [5., 0.]])
    """
    resolved = kernel_from(kernel, gamma=gamma, degree=degree, coef0=coef0, x=x)
    return np.asarray(np.sqrt(resolved.squared_distance(x, z)))


def kernel_cosine(
    kernel: Any,
    x: Items,
    z: Items | None = None,
    *,
    gamma: str | float = "scale",
    degree: int = 3,
    coef0: float = 0.0,
) -> Array:
    """Cosines of the angles between items in the feature space of a kernel.

        cos(φ(x), φ(z)) = κ(x, z) / √(κ(x, x) κ(z, z)),    0 for items without features

    Parameters
    ----------
    kernel : Kernel, str or callable
        κ: a kernel, scikit-learn's name of one, or a function of two matrices.
    x : array-like or list
        Items.
    z : array-like or list, optional
        Other items; x again if left out.
    gamma : "scale", "auto" or float, default="scale"
        As in scikit-learn, for a kernel given by name.
    degree : int, default=3
        As in scikit-learn, for ``kernel="poly"``.
    coef0 : float, default=0.0
        As in scikit-learn, for "poly" and "sigmoid".

    Returns
    -------
    array of shape (len x, len z)
        Cosines of all pairs.

    See Also
    --------
    kernel_distance : distances instead of cosines.
    Cosine : the cosine distance of rows of numbers.

    References
    ----------
    B. Schölkopf and A. J. Smola, Learning with Kernels, MIT Press, 2002.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.kernel_cosine("linear", [[1.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.7071]])
    """
    resolved = kernel_from(kernel, gamma=gamma, degree=degree, coef0=coef0, x=x)
    return resolved.normalized().gram(x, z)
