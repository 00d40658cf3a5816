"""The plane through a cloud of classes on which they are seen farthest apart.

    c = (x − centre) A          where a row falls on the plane
    x = centre + c B,  B A = 1  the row of the plane at c

The axes are discriminant directions: AᵀWA = 1 for the scatter W within classes, so that both are
measured in standard deviations within a class, and B = AᵀW. Going along B moves nothing but c: the
directions that W makes independent of the plane stay at their means.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: With more columns than this, those that tell the classes apart best by themselves are turned.
MOST_COLUMNS = 300

#: Below this the classes do not differ along a direction: variances between to those within.
_NO_DIFFERENCE = 1e-8


@dataclass(frozen=True)
class DiscriminantPlane:
    """``axes`` A is d x 2, ``lift`` B is 2 x d; ``loadings`` (2 x d) correlate columns and axes.

    Of the two axes, the first ``discriminant`` tell classes apart; others follow the scatter.
    """

    centre: Floats
    axes: Floats
    lift: Floats
    loadings: Floats
    discriminant: int
    names: tuple[str, ...] = ()

    def coordinates(self, x: Floats) -> Floats:
        """Where rows fall on the plane (n x 2)."""
        return np.asarray((np.asarray(x, dtype=float) - self.centre) @ self.axes)

    def rows(self, coordinates: Floats) -> Floats:
        """The rows of the plane at these coordinates (n x d)."""
        return np.asarray(self.centre + coordinates @ self.lift)

    def heaviest(self, axis: int, most: int = 2) -> list[str]:
        """The columns that go with an axis most closely."""
        size = np.abs(self.loadings[axis])
        order = np.argsort(-size, kind="stable")[:most]
        names = self.names or tuple(f"x{j}" for j in range(size.size))
        return [names[j] for j in order if size[j] > 0]


def discriminant_plane(
    x: Floats,
    codes: NDArray[np.intp],
    w: Floats | None = None,
    *,
    names: tuple[str, ...] = (),
) -> DiscriminantPlane:
    """The plane of the first two discriminant directions of rows ``x`` with classes ``codes``.

    With two classes there is one such direction; the other is the widest scatter that remains.
    With few rows for the columns, W is drawn towards that of independent columns.
    """
    weights = np.ones(len(x)) if w is None else np.asarray(w, dtype=float)
    centre = np.average(x, axis=0, weights=weights)
    size = np.sqrt(np.average((x - centre) ** 2, axis=0, weights=weights))
    varies = size > 8 * np.finfo(float).eps * np.abs(x).max(axis=0, initial=0.0)
    if varies.sum() < 2:
        raise InputError("A picture of the boundary needs two columns of numbers that vary.")
    z = (x - centre) / np.where(varies, size, 1.0)
    kept = _most_discriminating(z, codes, weights, varies)
    within, between, freedom = _scatters(z[:, kept], codes, weights)
    shrink = max(min(1.0, (len(kept) / max(freedom, 1.0)) ** 2), 1e-9)
    within = (1.0 - shrink) * within + shrink * np.eye(len(kept))
    turned, discriminant = _directions(within, between)
    axes, lift = np.zeros((x.shape[1], 2)), np.zeros((2, x.shape[1]))
    axes[kept] = turned / size[kept, None]
    lift[:, kept] = (within @ turned).T * size[kept]
    loadings = np.zeros((2, x.shape[1]))
    loadings[:, kept] = (within @ turned).T / np.sqrt(np.diag(within))
    return DiscriminantPlane(centre, axes, lift, loadings, discriminant, names)


def _most_discriminating(
    z: Floats, codes: NDArray[np.intp], w: Floats, varies: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Columns that vary; of many, those whose class means differ most."""
    kept = np.flatnonzero(varies)
    if kept.size <= MOST_COLUMNS:
        return kept
    means, share = _class_means(z[:, kept], codes, w)
    apart = share @ means**2
    return np.sort(kept[np.argsort(-apart, kind="stable")[:MOST_COLUMNS]])


def _class_means(z: Floats, codes: NDArray[np.intp], w: Floats) -> tuple[Floats, Floats]:
    k = int(codes.max()) + 1
    share = np.bincount(codes, w, minlength=k)
    sums = np.zeros((k, z.shape[1]))
    np.add.at(sums, codes, z * w[:, None])
    return sums / np.where(share > 0, share, 1.0)[:, None], share / share.sum()


def _scatters(z: Floats, codes: NDArray[np.intp], w: Floats) -> tuple[Floats, Floats, float]:
    """Covariance within classes, that of the class means, and the rows left for the former."""
    means, share = _class_means(z, codes, w)
    rest = z - means[codes]
    within = (rest * w[:, None]).T @ rest / w.sum()
    between = (means * share[:, None]).T @ means
    return within, between, float(w.sum() - (share > 0).sum())


def _directions(within: Floats, between: Floats) -> tuple[Floats, int]:
    """Two axes of unit scatter within classes, and how many of them tell classes apart."""
    from scipy.linalg import eigh

    d = len(within)
    values, vectors = eigh(between, within, subset_by_index=(d - 2, d - 1))
    found = [vectors[:, 1 - i] for i in range(2) if values[1 - i] > _NO_DIFFERENCE]
    discriminant = len(found)
    while len(found) < 2:
        found.append(_widest_rest(within, found))
    axes = np.column_stack(found)
    largest = np.abs(axes).argmax(axis=0)
    return axes * np.sign(axes[largest, [0, 1]]), discriminant


def _widest_rest(within: Floats, found: list[Floats]) -> Floats:
    """The widest direction of the scatter that the axes found so far leave."""
    rest = within - sum(
        (np.outer(within @ a, within @ a) for a in found), start=np.zeros_like(within)
    )
    axis = np.linalg.eigh(rest)[1][:, -1]
    for a in found:
        axis = axis - a * (a @ within @ axis)
    return np.asarray(axis / np.sqrt(max(axis @ within @ axis, np.finfo(float).tiny)))
