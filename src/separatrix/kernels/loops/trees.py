"""Tree kernel of all pairs of two lists of trees, by dynamic programming."""

from __future__ import annotations

from separatrix.compilation import compiled


@compiled
def _pair(px, cx, kx, py, cy, ky, decay, partial, work):
    """Σ over pairs of nodes of C(a, b), children before parents.

    p: productions; c: where the children of every node begin in the list k (nodes + 1 entries).
    """
    total = decay * 0.0
    for a in range(px.size):
        first, many = cx[a], cx[a + 1] - cx[a]
        for b in range(py.size):
            value = decay * 0.0
            if px[a] == py[b] and px[a] >= 0:
                value = decay
                for i in range(many):
                    u, v = kx[first + i], ky[cy[b] + i]
                    if cx[u + 1] > cx[u] or cy[v + 1] > cy[v]:  # two leaves: the factor is one
                        value *= partial + work[u, v]
            work[a, b] = value
            total += value
    return total


@compiled
def tree_kernel(
    px, cx, kx, ends_x, pz, cz, kz, ends_z, top, bottom, part, decay, partial, work, out
):
    """Rows top … bottom: all pairs (part 0), the lower triangle (1), the diagonal (2)."""
    for i in range(top, bottom):
        a, b = ends_x[i], ends_x[i + 1]
        if part == 2:
            out[i, 0] = _pair(
                px[a:b], cx[a : b + 1], kx, px[a:b], cx[a : b + 1], kx, decay, partial, work
            )
            continue
        for j in range(i + 1 if part == 1 else out.shape[1]):
            c, d = ends_z[j], ends_z[j + 1]
            out[i, j] = _pair(
                px[a:b], cx[a : b + 1], kx, pz[c:d], cz[c : d + 1], kz, decay, partial, work
            )
