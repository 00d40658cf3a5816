"""The loops of Bayesian models, compiled."""

from __future__ import annotations

import math

import numpy as np

from separatrix.compilation import compiled
from separatrix.kernels.loops import FLAGS, LEAST, exponential

# -------------------------------------------------------------------------------------------------
# Exact draws of Pólya–Gamma variables, compiled.
#
#     PG(1, c) = ¼ J*(1, c/2)
#
# J* is drawn by Devroye's method: a proposal from an inverse normal below t and an exponential
# above it, and an alternating series that decides about it in finitely many terms.


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


# -------------------------------------------------------------------------------------------------
# Normalizing sums and probabilities of scores against those of the first class, compiled.
#
#     log(1 + Σ e^tₖ),        pₖ = e^tₖ / (1 + Σ e^tₗ),        tₖ = sₖ − s₀
#
# Scores are sets x classes x columns, where a column is a row of a table or a node of a rule; those
# of a class are contiguous, so that exponentials of many columns are computed at once.


#: Sums of exponentials are multiplied side by side before logarithms are taken; of this many
#: columns at most, so that a product, of 64 factors then, does not overflow.
LANES, MOST_COLUMNS = 64, 4096


@compiled(fastmath=FLAGS)
def normalize(scores, top, total):
    """The largest score t of every column, or 0, and e^−top + Σ e^(t − top)."""
    for r in range(top.shape[0]):
        top[r], total[r] = 0.0, 1.0
    for k in range(scores.shape[0]):
        row = scores[k]
        for r in range(top.shape[0]):
            e = exponential(max(-abs(row[r] - top[r]), LEAST))
            total[r] = total[r] * e + 1.0 if row[r] > top[r] else total[r] + e
            top[r] = max(row[r], top[r])


@compiled(fastmath={"reassoc", "contract"})
def add_log_sums(scores, w, out):
    """Add Σ w log(1 + Σ e^t) of every set to ``out``; no weights stand for ones."""
    columns = scores.shape[2]
    top, total, products = np.empty(columns), np.empty(columns), np.empty(LANES)
    for i in range(scores.shape[0]):
        normalize(scores[i], top, total)
        value = 0.0
        if w.shape[0]:
            for r in range(columns):
                value += w[r] * (top[r] + math.log(total[r]))
        else:
            for r in range(columns):
                value += top[r]
            for r in range(LANES):
                products[r] = 1.0
            for start in range(0, columns, LANES):
                for r in range(min(LANES, columns - start)):
                    products[r] *= total[start + r]
            for r in range(LANES):
                value += math.log(products[r])
        out[i] += value


@compiled(fastmath=FLAGS)
def to_probabilities(scores, w):
    """Scores become w p in place; no weights stand for ones."""
    columns = scores.shape[2]
    top, total = np.empty(columns), np.empty(columns)
    for i in range(scores.shape[0]):
        normalize(scores[i], top, total)
        for r in range(columns):
            # a quotient of Python's looks whether it divides by zero, one column after the other
            total[r] = np.divide(w[r] if w.shape[0] else 1.0, total[r])
        for k in range(scores.shape[1]):
            row = scores[i, k]
            for r in range(columns):
                row[r] = total[r] * exponential(max(row[r] - top[r], LEAST))


# -------------------------------------------------------------------------------------------------
# Means of the logistic likelihood over normal distributions, row by row.


@compiled
def expected_likelihood(mean, variance, softplus, probability, curvature):
    """E log(1 + eᶠ), E σ(f) and E σ(f)(1 − σ(f)) of f ~ N(mean, variance), for every row."""
    longest = 0.7  # longest step of the trapezoidal rule in standard deviations
    width = 0.9  # its step in units of f where that is shorter
    for i in range(len(mean)):
        spread = np.sqrt(variance[i])
        step = longest
        if spread * longest > width:
            # The shortest step: standard deviations of f beyond 128 have fewer digits.
            step = max(width / spread, 0.007)
        # How far it reaches. σ has its nearest pole at iπ: what the rule leaves is below 1e-9.
        count = int(7.5 / step)
        total, first, second, third = 0.0, 0.0, 0.0, 0.0
        for k in range(-count, count + 1):
            t = k * step
            weight = np.exp(-0.5 * t * t)
            f = mean[i] + spread * t
            small = np.exp(-abs(f))
            larger = 1.0 / (1.0 + small)
            total += weight
            first += weight * (max(f, 0.0) + np.log1p(small))
            second += weight * (larger if f > 0.0 else small * larger)
            third += weight * small * larger * larger
        softplus[i] = first / total
        probability[i] = second / total
        curvature[i] = third / total
