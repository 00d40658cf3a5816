"""Exact draws of Pólya–Gamma variables, compiled.

    PG(1, c) = ¼ J*(1, c/2)

J* is drawn by Devroye's method: a proposal from an inverse normal below t and an exponential above
it, and an alternating series that decides about it in finitely many terms.
"""

from __future__ import annotations

import math

import numpy as np

from separatrix.compilation import compiled

#: Where the two proposals meet.
MEET = 0.64
ROOT2 = math.sqrt(2.0)
FIRST, SECOND, LONG = np.uint64(23), np.uint64(45), np.uint64(17)
REST_1, REST_2, BITS = np.uint64(41), np.uint64(19), np.uint64(11)
UNIT = 1.0 / 9007199254740992.0


@compiled
def uniform(state):
    """A number in (0, 1), from 64 bits of xoshiro256++ (Blackman and Vigna)."""
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
    return (float(result >> BITS) + 0.5) * UNIT


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
        a, b = 2.0 * uniform(state) - 1.0, 2.0 * uniform(state) - 1.0
        s = a * a + b * b
        if not 0.0 < s < 1.0:
            continue
        half = -mean * a * a * math.log(s) / s  # ½ mean times a squared normal number
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
def polya_gamma_variables(scores, counts, state, out):
    """A draw of PG(w, score) for every row; no counts w stand for ones."""
    for r in range(scores.shape[0]):
        total = 0.0
        for _ in range(counts[r] if counts.shape[0] else 1):
            total += polya_gamma(state, scores[r])
        out[r] = total
