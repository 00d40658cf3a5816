"""Steps of Khachiyan's method on points that are lifted by a 1."""

from __future__ import annotations

from separatrix.compilation import compiled


@compiled
def weighted_steps(z, inverse, u, near, most, g, product):
    """At most ``most`` steps toward a point or away from one; changes ``u``; returns how many.

    ``inverse`` is that of M(u) = Σ u z zᵀ; it and gᵢ = zᵢᵀ M⁻¹ zᵢ are updated by rank one.
    ``product`` is to work in.
    """
    n, d = z.shape
    for i in range(n):
        g[i] = 0.0
        for a in range(d):
            for b in range(d):
                g[i] += z[i, a] * inverse[a, b] * z[i, b]
    for step in range(most):
        far, close = 0, -1
        for i in range(n):
            if g[i] > g[far]:
                far = i
            if u[i] > 0.0 and (close < 0 or g[i] < g[close]):
                close = i
        above, below = g[far] / d - 1.0, 1.0 - g[close] / d
        if above <= near and below <= near:
            return step
        at = far if above > below else close
        beta = -1.0
        if g[at] > 1.0:
            beta = (g[at] - d) / (d * (g[at] - 1.0))
        if at == close:
            beta = max(beta, -u[at] / (1.0 - u[at]))
        for a in range(d):
            product[a] = 0.0
            for b in range(d):
                product[a] += inverse[a, b] * z[at, b]
        # M ← (1 − β) M + β z zᵀ
        rest = 1.0 - beta
        shrink = beta / (rest + beta * g[at])
        for a in range(d):
            for b in range(d):
                inverse[a, b] = (inverse[a, b] - shrink * product[a] * product[b]) / rest
        for i in range(n):
            cross = 0.0
            for a in range(d):
                cross += product[a] * z[i, a]
            g[i] = (g[i] - shrink * cross * cross) / rest
            u[i] *= rest
        u[at] += beta
        if u[at] < 1e-15:
            u[at] = 0.0
    return most
