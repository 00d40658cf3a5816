"""Matérn kernels: functions that are rough, once or twice differentiable.

κ(x, z) = 2^{1−ν}/Γ(ν) tᵛ K_ν(t),    t = √(2ν s),    s = Σ ((x − z)/σ)²
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from separatrix.kernels.base import Array
from separatrix.kernels.parameters.hyperparameters import hyperparameter
from separatrix.kernels.stationary.radial import RadialKernel
from separatrix.messages import InputError

#: t beyond which the kernel is zero in double precision.
_FAR = 700.0


@dataclass(frozen=True)
class Matern(RadialKernel):
    """Matérn kernel: functions with as many derivatives as ν is above.

        ν = ½    exp(−r)
        ν = 3⁄2  (1 + √3 r) exp(−√3 r)
        ν = 5⁄2  (1 + √5 r + 5r²/3) exp(−√5 r),    r² = Σ_c ((x_c − z_c)/σ_c)²

    In general 2^{1−ν}/Γ(ν) tᵛ K_ν(t) with t = √(2ν) r and the Bessel function K_ν; the limit
    ν → ∞ is the Gaussian kernel. It is scikit-learn's ``Matern``.

    Parameters
    ----------
    bandwidth : float or tuple of float, default=1.0
        σ, above zero: one for all columns, or one for each.
    nu : float, default=1.5
        ν, above zero, which is not learned. The three named are fast; others need Bessel functions.

    See Also
    --------
    Gaussian : infinitely smooth functions.
    RationalQuadratic : smooth functions of several bandwidths.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, ch. 4.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Matern(2.0, nu=0.5).gram([[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    >>> sx.Matern((1.0, 3.0), nu=2.5).gram([[0.0, 0.0]], [[1.0, 3.0]]).round(4)
    array([[0.3173]])
    """

    bandwidth: float | tuple[float, ...] = hyperparameter(1.0, 1e-5, 1e5)
    nu: float = 1.5
    #: Names of the compiled loops.
    _loops: ClassVar[dict[float, str]] = {
        0.5: "matern1",
        1.5: "matern3",
        2.5: "matern5",
        np.inf: "gaussian",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.nu > 0.0:
            raise InputError(
                f"nu of a Matérn kernel is {self.nu!r}.", remedy="Take 0.5, 1.5, 2.5 or another."
            )

    def apply(self, tile: Array, slopes: Array, a: float, b: float) -> list[Array]:
        """f(s), and its slope."""
        if self.nu not in self._loops:
            self._bessel(tile, slopes, a, b)
            return []
        from separatrix.kernels.loops import radial as loops

        loop: Any = getattr(loops, self._loops[self.nu])
        loop(tile, slopes, a, b)
        return []

    def _bessel(self, tile: Array, slopes: Array, a: float, b: float) -> None:
        """Any ν: d/dt (tᵛ K_ν) = −tᵛ K_{ν−1}, so g = 2ν 2^{1−ν}/Γ(ν) t^{ν−1} K_{ν−1}."""
        from scipy.special import gammaln, kve  # slow to import

        nu, square = self.nu, tile.copy()
        t = np.sqrt(2.0 * nu * square)
        inside = (t > 0.0) & (t < _FAR)
        near = t[inside]
        log = np.log(near)
        constant = (1.0 - nu) * np.log(2.0) - gammaln(nu)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            values = np.exp(constant + nu * log - near + np.log(kve(nu, near)))
            lower = kve(nu - 1.0, near)
            outer = np.exp(constant + (nu - 1.0) * log - near + np.log(lower))
        tile[...] = np.where(t >= _FAR, 0.0, 1.0)
        # K_ν overflows where t is tiny: the kernel is one there
        tile[inside] = np.where(np.isfinite(values), np.minimum(values, 1.0), 1.0)
        if slopes.shape == tile.shape:
            slopes[...] = 0.0
            slopes[inside] = np.where(np.isfinite(outer), 2.0 * nu * outer, 0.0) * (
                a + b * square[inside]
            )
