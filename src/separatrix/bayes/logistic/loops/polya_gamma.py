"""Exact draws of Pólya–Gamma variables, and Gibbs steps of logistic regression with them.

    PG(1, c) = ¼ J*(1, c/2),      ω | θ ~ PG(w, zᵀθ),      θ | ω ~ N(Q⁻¹ Zᵀκ, Q⁻¹)

with Q = Zᵀ diag(ω) Z + Λ and κ = w (y − ½). J* is drawn by Devroye's method: a proposal from an
inverse normal below t and an exponential above it, and an alternating series that decides about it
in finitely many terms.
"""

from __future__ import annotations

import math

import numpy as np

from separatrix.compilation import compiled
from separatrix.statistics.loops.class_sums import add_products

#: Where the two proposals meet.
MEET = 0.64
ROOT2 = math.sqrt(2.0)
FIRST, SECOND, LONG = np.uint64(23), np.uint64(45), np.uint64(17)
REST_1, REST_2, BITS = np.uint64(41), np.uint64(19), np.uint64(11)
UNIT = 1.0 / 9007199254740992.0


@compiled(inline="always")
def _next(state):
    """64 random bits: xoshiro256++ of Blackman and Vigna."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    total = s0 + s3
    result = ((total << FIRST) | (total >> REST_1)) + s0
    shifted = s1 << LONG
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    s3 = (s3 << SECOND) | (s3 >> REST_2)
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3
    return result


@compiled
def uniform(state):
    """A number in (0, 1)."""
    return (float(_next(state) >> BITS) + 0.5) * UNIT


@compiled
def normal(state):
    """A standard normal number, by Marsaglia's polar method."""
    while True:
        a, b = 2.0 * uniform(state) - 1.0, 2.0 * uniform(state) - 1.0
        s = a * a + b * b
        if 0.0 < s < 1.0:
            return a * math.sqrt(-2.0 * math.log(s) / s)


@compiled
def _coefficient(n, x):
    """The n-th term of the series of the density at x."""
    k = n + 0.5
    if x > MEET:
        return math.pi * k * math.exp(-0.5 * k * k * math.pi * math.pi * x)
    inverse = 1.0 / x
    power = (2.0 / math.pi * inverse) * math.sqrt(2.0 / math.pi * inverse)
    return math.pi * k * power * math.exp(-2.0 * k * k * inverse)


@compiled
def _short(state, c):
    """An inverse normal number with mean 1/c and shape 1, below ``MEET``."""
    if c * MEET < 1.0:
        while True:
            e, rest = -math.log(uniform(state)), -math.log(uniform(state))
            if e * e > 2.0 * rest / MEET:
                continue
            x = MEET / ((1.0 + MEET * e) * (1.0 + MEET * e))
            if uniform(state) <= math.exp(-0.5 * c * c * x):
                return x
    mean = 1.0 / c
    while True:
        square = normal(state) ** 2
        half = 0.5 * mean * square
        x = mean * (1.0 + half - math.sqrt(half * (2.0 + half)))
        if uniform(state) > mean / (mean + x):
            x = mean * mean / x
        if x < MEET:
            return x


@compiled
def polya_gamma(state, z):
    """A draw of PG(1, z)."""
    c = 0.5 * abs(z)
    rate = 0.125 * math.pi * math.pi + 0.5 * c * c
    root = 1.0 / math.sqrt(MEET)
    right = math.pi / (2.0 * rate) * math.exp(-rate * MEET)
    left = math.exp(-c) * math.erfc(-root * (MEET * c - 1.0) / ROOT2)
    if c < 20.0:  # beyond, the second part is below any rounding error of the first
        left += math.exp(c) * math.erfc(root * (MEET * c + 1.0) / ROOT2)
    chance = right / (right + left)
    while True:
        far = uniform(state) < chance
        x = MEET - math.log(uniform(state)) / rate if far else _short(state, c)
        total = _coefficient(0, x)
        level, n = uniform(state) * total, 0
        while True:
            n += 1
            total -= _coefficient(n, x)
            if level <= total:
                return 0.25 * x
            n += 1
            total += _coefficient(n, x)
            if level > total:
                break


@compiled
def _scores(z, theta, scores):
    for r in range(scores.shape[0]):
        scores[r] = 0.0
    for j in range(z.shape[0]):
        t, column = theta[j], z[j]
        for r in range(scores.shape[0]):
            scores[r] += t * column[r]


@compiled
def _cholesky(matrix, size):
    """The lower factor, written over the lower triangle."""
    for j in range(size):
        for i in range(j, size):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = math.sqrt(total) if i == j else total / matrix[j, j]


@compiled
def polya_gamma_draws(z, counts, linear, precision, theta, state, out):
    """Gibbs steps from the state ``theta``, which moves on; ``counts`` are whole weights by row.

    ``linear`` is Zᵀκ.
    """
    p, rows = theta.shape[0], z.shape[2]
    padded = -(-p // 4) * 4
    gram, weighted = np.empty((padded, padded)), np.zeros((padded, rows))
    scores, right = np.empty(rows), np.empty(p)
    for i in range(out.shape[0]):
        for a in range(padded):
            for b in range(padded):
                gram[a, b] = 0.0
        for b in range(z.shape[0]):
            _scores(z[b], theta, scores)
            for r in range(rows):
                total = 0.0
                for _ in range(counts[b, r]):
                    total += polya_gamma(state, scores[r])
                scores[r] = math.sqrt(total)
            for j in range(p):
                for r in range(rows):
                    weighted[j, r] = scores[r] * z[b, j, r]
            add_products(weighted, rows, gram)
        for j in range(p):
            gram[j, j] += precision[j]
        _cholesky(gram, p)
        for j in range(p):  # L right = Zᵀκ
            total = linear[j]
            for k in range(j):
                total -= gram[j, k] * right[k]
            right[j] = total / gram[j, j]
        for j in range(p - 1, -1, -1):  # Lᵀθ = right + noise
            total = right[j] + normal(state)
            for k in range(j + 1, p):
                total -= gram[k, j] * theta[k]
            theta[j] = total / gram[j, j]
        for j in range(p):
            out[i, j] = theta[j]
