"""The rational quadratic kernel: Gaussian kernels of all bandwidths, mixed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.kernels.base import Array
from separatrix.kernels.parameters.hyperparameters import check_positive, hyperparameter
from separatrix.kernels.stationary.radial import RadialKernel


@dataclass(frozen=True)
class RationalQuadratic(RadialKernel):
    """Rational quadratic kernel: smooth functions that vary on several scales.

        κ(x, z) = (1 + s/2α)^−α,    s = Σ_c ((x_c − z_c)/σ_c)²

    It is a mixture of Gaussian kernels whose σ⁻² has a gamma distribution; as α grows it becomes
    the Gaussian kernel of bandwidth σ. With one bandwidth it is scikit-learn's
    ``RationalQuadratic``.

    Parameters
    ----------
    bandwidth : float or tuple of float, default=1.0
        σ, above zero: one for all columns, or one for each.
    alpha : float, default=1.0
        α, above zero: the smaller, the wider the mixture.

    See Also
    --------
    Gaussian : one bandwidth.
    Matern : rougher functions.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press,
    2006.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.RationalQuadratic(1.0, alpha=0.5).gram([[0.0], [1.0], [3.0]]).round(4)
    array([[1.    , 0.7071, 0.3162],
           [0.7071, 1.    , 0.4472],
           [0.3162, 0.4472, 1.    ]])
    """

    bandwidth: float | tuple[float, ...] = hyperparameter(1.0, 1e-5, 1e5)
    alpha: float = hyperparameter(1.0, 1e-5, 1e5)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.alpha, "alpha of RationalQuadratic")

    def apply(self, tile: Array, slopes: Array, a: float, b: float) -> list[Array]:
        """f(s), its slope, and ∂f/∂log α."""
        from separatrix.kernels.loops.radial import rational_quadratic

        others = np.empty_like(slopes)
        rational_quadratic(tile, slopes, others, a, b, float(self.alpha))
        return [others]
