"""The periodic kernel: functions that repeat themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from separatrix.kernels.base import Array
from separatrix.kernels.parameters.hyperparameters import Floats, check_positive, hyperparameter
from separatrix.kernels.stationary.radial import RadialKernel


@dataclass(frozen=True)
class Periodic(RadialKernel):
    """Periodic kernel: functions of one column that repeat themselves.

        κ(x, z) = exp(−2 sin²(π ‖x − z‖/p) / ℓ²)

    It is scikit-learn's ``ExpSineSquared``, and Mercer for rows of one column only: with several,
    no periodic function of the distance is.

    Parameters
    ----------
    bandwidth : float, default=1.0
        ℓ, above zero, relative to a period: the smaller, the more turns within one.
    period : float, default=1.0
        p, above zero, in the units of the column.

    See Also
    --------
    Gaussian : a factor of this bandwidth lets the period's shape change slowly.
    Fixed : a period that is known is not learned.

    References
    ----------
    D. J. C. MacKay, Introduction to Gaussian processes, 1998.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Periodic(1.0, period=12.0).gram([[0.0], [6.0], [12.0]]).round(4)
    array([[1.    , 0.1353, 1.    ],
           [0.1353, 1.    , 0.1353],
           [1.    , 0.1353, 1.    ]])
    """

    bandwidth: float = hyperparameter(1.0, 1e-5, 1e5)
    period: float = hyperparameter(1.0, 1e-5, 1e5)

    def __post_init__(self) -> None:
        check_positive(self.bandwidth, "The bandwidth of Periodic")
        check_positive(self.period, "The period of Periodic")

    @property
    def mercer(self) -> bool:
        """False, since rows may have several columns; with one column it is Mercer."""
        return False

    def inverse_bandwidths(self, d: int) -> Floats:
        """1/p: distances are measured in periods."""
        return np.full(d, 1.0 / self.period)

    def started(self, bandwidth: Any) -> Self:
        """A bandwidth of one; the period stays."""
        del bandwidth
        return replace(self, bandwidth=1.0)

    def apply(self, tile: Array, slopes: Array, a: float, b: float) -> list[Array]:
        """f(s), ∂f/∂log ℓ in ``slopes`` and ∂f/∂log p."""
        del a, b
        from separatrix.kernels.loops.radial import periodic

        others = np.empty_like(slopes)
        periodic(tile, slopes, others, 2.0 / self.bandwidth**2)
        return [others]
