"""The plane of greatest between-class separation (the first two Fisher discriminants).

    c = (x − center) A,    x = center + c B,    B A = I

The columns of A are discriminant directions with AᵀWA = I for the within-class covariance W, so
that both coordinates are in within-class standard deviations, and B = AᵀW: directions that are
uncorrelated with the plane within classes stay at their means.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.messages import InputError
from separatrix.rows.schema import unit_weights

#: Of more columns than this, those with the largest between-class variance are used.
MAX_COLUMNS = 300


@dataclass(frozen=True)
class DiscriminantPlane:
    """Projection on two axes, and back.

    ``axes`` A is d x 2, ``inverse_axes`` B is 2 x d; ``loadings`` (2 x d) are the within-class
    correlations of columns and axes. The first ``n_discriminant`` axes are discriminant
    directions, the others directions of greatest remaining variance.
    """

    center: Floats
    axes: Floats
    inverse_axes: Floats
    loadings: Floats
    n_discriminant: int
    names: tuple[str, ...] = ()

    def transform(self, x: Floats) -> Floats:
        """Coordinates of rows on the plane (n x 2)."""
        return np.asarray((np.asarray(x, dtype=float) - self.center) @ self.axes)

    def inverse_transform(self, coordinates: Floats) -> Floats:
        """The points of the plane at these coordinates (n x d)."""
        return np.asarray(self.center + coordinates @ self.inverse_axes)

    def top_columns(self, axis: int, n: int = 2) -> list[str]:
        """Names of the columns with the largest loadings on an axis."""
        loadings = np.abs(self.loadings[axis])
        order = np.argsort(-loadings, kind="stable")[:n]
        names = self.names or tuple(f"x{j}" for j in range(loadings.size))
        return [names[j] for j in order if loadings[j] > 0]


def discriminant_plane(
    x: Floats,
    codes: NDArray[np.intp],
    w: Floats | None = None,
    *,
    names: tuple[str, ...] = (),
) -> DiscriminantPlane:
    """The plane of the first two discriminant directions of rows ``x`` with classes ``codes``.

    Two classes have one such direction; the other is that of greatest remaining variance. With few
    rows for the columns, W is shrunk towards its diagonal.
    """
    weights = unit_weights(w, len(x))
    center = np.average(x, axis=0, weights=weights)
    scale = np.sqrt(np.average((x - center) ** 2, axis=0, weights=weights))
    varies = scale > 8 * np.finfo(float).eps * np.abs(x).max(axis=0, initial=0.0)
    if varies.sum() < 2:
        raise InputError("A plane needs two numeric columns that are not constant.")
    z = (x - center) / np.where(varies, scale, 1.0)
    columns = _most_discriminating(z, codes, weights, varies)
    within, between, degrees_of_freedom = _scatters(z[:, columns], codes, weights)
    shrinkage = max(min(1.0, (len(columns) / max(degrees_of_freedom, 1.0)) ** 2), 1e-9)
    within = (1.0 - shrinkage) * within + shrinkage * np.eye(len(columns))
    directions, discriminant = _directions(within, between)
    axes, inverse_axes = np.zeros((x.shape[1], 2)), np.zeros((2, x.shape[1]))
    axes[columns] = directions / scale[columns, None]
    inverse_axes[:, columns] = (within @ directions).T * scale[columns]
    loadings = np.zeros((2, x.shape[1]))
    loadings[:, columns] = (within @ directions).T / np.sqrt(np.diag(within))
    return DiscriminantPlane(center, axes, inverse_axes, loadings, discriminant, names)


def _most_discriminating(
    z: Floats, codes: NDArray[np.intp], w: Floats, varies: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Columns that are not constant; of many, those of largest between-class variance."""
    columns = np.flatnonzero(varies)
    if columns.size <= MAX_COLUMNS:
        return columns
    means, proportions = _class_means(z[:, columns], codes, w)
    separation = proportions @ means**2
    return np.sort(columns[np.argsort(-separation, kind="stable")[:MAX_COLUMNS]])


def _class_means(z: Floats, codes: NDArray[np.intp], w: Floats) -> tuple[Floats, Floats]:
    """Means and proportions of the classes."""
    k = int(codes.max()) + 1
    totals = np.bincount(codes, w, minlength=k)
    sums = np.zeros((k, z.shape[1]))
    np.add.at(sums, codes, z * w[:, None])
    return sums / np.where(totals > 0, totals, 1.0)[:, None], totals / totals.sum()


def _scatters(z: Floats, codes: NDArray[np.intp], w: Floats) -> tuple[Floats, Floats, float]:
    """Within-class and between-class covariance, and the degrees of freedom of the former."""
    means, proportions = _class_means(z, codes, w)
    residual = z - means[codes]
    within = (residual * w[:, None]).T @ residual / w.sum()
    between = (means * proportions[:, None]).T @ means
    return within, between, float(w.sum() - (proportions > 0).sum())


def _directions(within: Floats, between: Floats) -> tuple[Floats, int]:
    """Two axes of unit within-class variance, and how many of them are discriminant."""
    from scipy.linalg import eigh

    d = len(within)
    values, vectors = eigh(between, within, subset_by_index=(d - 2, d - 1))
    # Ratios of between- to within-class variance below this count as zero.
    chosen = [vectors[:, 1 - i] for i in range(2) if values[1 - i] > 1e-8]
    discriminant = len(chosen)
    while len(chosen) < 2:
        chosen.append(_largest_remaining_axis(within, chosen))
    axes = np.column_stack(chosen)
    largest = np.abs(axes).argmax(axis=0)
    return axes * np.sign(axes[largest, [0, 1]]), discriminant


def _largest_remaining_axis(within: Floats, axes: list[Floats]) -> Floats:
    """Direction of greatest within-class variance, uncorrelated with the axes found so far."""
    remaining = within - sum(
        (np.outer(within @ a, within @ a) for a in axes), start=np.zeros_like(within)
    )
    axis = np.linalg.eigh(remaining)[1][:, -1]
    for a in axes:
        axis = axis - a * (a @ within @ axis)
    return np.asarray(axis / np.sqrt(max(axis @ within @ axis, np.finfo(float).tiny)))
