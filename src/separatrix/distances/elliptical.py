"""Euclidean distances after a linear map: the sets of constant distance are ellipsoids."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats
from separatrix.distances.metrics import Euclidean, as_dense_matrix
from separatrix.messages import InputError
from separatrix.rows.schema import unit_weights

#: Eigenvalues below this fraction of the largest (unit diagonal) are treated as zero.
ZERO_EIGENVALUE = 1e-12


@dataclass(frozen=True, eq=False)
class Elliptical(Euclidean):
    """Euclidean distance after a linear map, given by it or by a positive semi-definite matrix.

        d(x, z) = √((x − z)ᵀ M (x − z)) = ‖L(x − z)‖,     M = LᵀL

    Parameters
    ----------
    M : array of shape (d, d), optional
        Symmetric, with no negative eigenvalue. With a rotation R and a scaling S, M = RᵀS²R. A
        zero eigenvalue makes points along its eigenvector indistinguishable (a pseudometric).
    components : array of shape (r, d), optional
        L, in place of M.

    Attributes
    ----------
    root : array of shape (d, r)
        Lᵀ; of M given, a square matrix.

    See Also
    --------
    Mahalanobis : M is the inverse of a covariance matrix.
    Euclidean : M is the identity.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Elliptical([[4.0, 0.0], [0.0, 1.0]])([0.0, 0.0], [1.0, 0.0])
    2.0
    """

    M: Floats | None = None
    components: Floats | None = None
    root: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.components is not None:
            self._take(np.asarray(self.components, dtype=float))
            return
        if self.M is None:
            raise InputError("Elliptical needs a matrix.", remedy="Give M, or components.")
        m = _symmetric(self.M, "M")
        scale, values, vectors = _scaled_eigh(m)
        if values.size and values[0] < -1e-10 * max(values[-1], 1.0):
            raise InputError(
                f"M has the negative eigenvalue {values[0]:.3g} (diagonal scaled to one): "
                "some squared distances would be negative.",
                remedy="Give a positive semi-definite matrix.",
            )
        object.__setattr__(self, "M", m)
        root = scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
        object.__setattr__(self, "root", root)

    def _take(self, components: Floats) -> None:
        if components.ndim != 2 or not np.isfinite(components).all():
            raise InputError("The components of a metric are a matrix of finite numbers.")
        object.__setattr__(self, "components", components)
        object.__setattr__(self, "M", components.T @ components)
        object.__setattr__(self, "root", np.ascontiguousarray(components.T))

    @property
    def is_metric(self) -> bool:
        """Whether M is positive definite."""
        assert self.M is not None
        _, values, _ = _scaled_eigh(self.M)
        return bool((values > ZERO_EIGENVALUE).all())

    def transform(self, centered: Floats) -> Floats:
        """x ↦ Lᵀx."""
        return _product(centered, self.root)


@dataclass(frozen=True, eq=False)
class Mahalanobis(Euclidean):
    """Mahalanobis distance: Euclidean after whitening by a covariance matrix.

        d(x, z) = √((x − z)ᵀ Σ⁻¹ (x − z))

    Parameters
    ----------
    covariance : array of shape (d, d), optional
        Σ. Without it, :meth:`fitted` estimates it from a sample (divisor n).

    Attributes
    ----------
    root : array of shape (d, r) or None
        The whitening matrix, of the rank of Σ: directions without variance are left out.

    See Also
    --------
    Elliptical : the same with Σ⁻¹ given.
    MultivariateNormal : the distribution whose density it determines.

    References
    ----------
    P. C. Mahalanobis, On the generalised distance in statistics, Proceedings of the National
    Institute of Sciences of India 2, 1936.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Mahalanobis([[4.0, 0.0], [0.0, 1.0]])([0.0, 0.0], [2.0, 0.0])
    1.0
    >>> metric = sx.Mahalanobis().fitted([[-1.0, 0.0], [1.0, 0.0], [0.0, -2.0], [0.0, 2.0]])
    >>> metric.covariance.round(2).tolist()
    [[0.5, 0.0], [0.0, 2.0]]
    """

    covariance: Floats | None = None
    root: Floats | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        if self.covariance is None:
            return
        c = _symmetric(self.covariance, "The covariance")
        scale, values, vectors = _scaled_eigh(c)
        positive = values > ZERO_EIGENVALUE * max(1.0, values[-1] if values.size else 1.0)
        object.__setattr__(self, "covariance", c)
        root = (vectors / scale[:, None])[:, positive] / np.sqrt(values[positive])
        object.__setattr__(self, "root", root)

    @property
    def is_metric(self) -> bool:
        """Whether the covariance has full rank."""
        return self.root is None or self.root.shape[0] == self.root.shape[1]

    def fitted(self, x: Any, w: Floats | None = None) -> Mahalanobis:
        """With the covariance of this sample, unless one was given."""
        if self.covariance is not None:
            return self
        centered, w = _center(x, w)
        with np.errstate(over="ignore", invalid="ignore"):
            covariance = (centered.T * w) @ centered / w.sum()
        _representable(np.diag(covariance), centered, "variance")
        return Mahalanobis(covariance)

    def transform(self, centered: Floats) -> Floats:
        """Whitening."""
        if self.root is None:
            raise InputError(
                "Mahalanobis() has no covariance yet.",
                remedy="Give it one, or call Mahalanobis().fitted(X).",
            )
        return _product(centered, self.root)


@dataclass(frozen=True, eq=False)
class StandardizedEuclidean(Euclidean):
    """Euclidean distance of columns divided by their standard deviations.

        d(x, z) = √Σ (xⱼ − zⱼ)² / Vⱼ

    Parameters
    ----------
    variances : array of shape (d,), optional
        V. Without it, :meth:`fitted` estimates it from a sample (divisor n − 1, as SciPy does). A
        column without variance is left out.

    See Also
    --------
    Mahalanobis : also takes the correlations of columns into account.
    Elliptical : any positive semi-definite matrix in place of 1/V.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.StandardizedEuclidean([4.0, 1.0])([0.0, 0.0], [2.0, 0.0])
    1.0
    """

    variances: Floats | None = None

    def __post_init__(self) -> None:
        if self.variances is None:
            return
        v = np.asarray(self.variances, dtype=float)
        if v.ndim != 1 or not np.isfinite(v).all() or (v < 0).any():
            raise InputError("The variances are a finite number for each column, none negative.")
        object.__setattr__(self, "variances", v)

    @property
    def is_metric(self) -> bool:
        """Whether all columns vary."""
        return self.variances is None or bool((self.variances > 0.0).all())

    def fitted(self, x: Any, w: Floats | None = None) -> StandardizedEuclidean:
        """With the variances of this sample, unless they were given."""
        if self.variances is not None:
            return self
        centered, w = _center(x, w)
        with np.errstate(over="ignore"):
            v = w @ centered**2 / max(w.sum() - 1.0, 1.0)
        return StandardizedEuclidean(_representable(v, centered, "variance"))

    def transform(self, centered: Floats) -> Floats:
        """Columns divided by their standard deviations."""
        if self.variances is None:
            raise InputError(
                "StandardizedEuclidean() has no variances yet.",
                remedy="Give them, or call StandardizedEuclidean().fitted(X).",
            )
        v = self.variances
        if centered.shape[1] != len(v):
            raise InputError(f"There are {len(v)} variances, for {centered.shape[1]} columns.")
        return np.asarray(centered / np.sqrt(np.where(v > 0.0, v, 1.0)) * (v > 0.0))


def _center(x: Any, w: Floats | None) -> tuple[Floats, Floats]:
    """Rows about their weighted mean, and their weights."""
    x = as_dense_matrix(x)
    w = unit_weights(w, len(x))
    centered = x - w @ x / w.sum()
    centered[:, np.ptp(x[w > 0], axis=0) == 0] = 0.0  # a mean of equal numbers may round
    return centered, w


def _representable(spread: Floats, centered: Floats, name: str) -> Floats:
    """The variances, refused where those of columns that vary over- or underflow."""
    lost = centered.any(axis=0) & (spread < 1e-290)  # variances below this have lost digits
    if not np.isfinite(spread).all() or lost.any():
        size = "smaller" if lost.any() else "larger"
        raise InputError(
            f"A {name} of these columns is {size} than any number.",
            remedy="Give the columns in other units.",
        )
    return spread


def _scaled_eigh(m: Floats) -> tuple[Floats, Floats, Floats]:
    """Scale, eigenvalues and eigenvectors of m with unit diagonal: free of the columns' units."""
    scale = np.sqrt(np.where(np.diag(m) > 0, np.diag(m), 1.0))
    values, vectors = linalg.eigh(m / scale / scale[:, None])
    return scale, values, vectors


def _product(x: Floats, root: Floats) -> Floats:
    if x.shape[1] != len(root):
        raise InputError(
            f"The matrix is for {len(root)} columns, and the points have {x.shape[1]}."
        )
    return np.ascontiguousarray(x @ root)


def _symmetric(m: Any, name: str) -> Floats:
    m = np.asarray(m, dtype=float)
    if m.ndim != 2 or m.shape[0] != m.shape[1]:
        raise InputError(f"{name} is a square matrix, not of shape {m.shape}.")
    if not np.isfinite(m).all() or not np.allclose(m, m.T, rtol=1e-8, atol=1e-12 * np.abs(m).max()):
        raise InputError(f"{name} must be finite and symmetric.")
    return np.asarray((m + m.T) / 2)
