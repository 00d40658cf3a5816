"""Subsequence kernel of all pairs of two lists of strings, by dynamic programming."""

from __future__ import annotations

from separatrix.compilation import compiled


@compiled
def _pair(s, t, decay, work):
    """Σ over common subsequences of decay^(spans).

    ``work[p, j]`` is the sum over all matches of p letters that end before the current letter of s
    and within the first j letters of t; every letter since counts one more ``decay``. Each letter
    of s updates it from large p to small, so that row p − 1 still belongs to the letter before.
    """
    length, n = work.shape[0], t.size
    work[0, : n + 1] = 1.0
    work[1:, : n + 1] = 0.0
    square = decay * decay
    total = decay * 0.0
    for i in range(s.size):
        for j in range(n):
            if s[i] == t[j]:
                total += square * work[length - 1, j]
        for p in range(length - 1, 0, -1):
            run = decay * 0.0
            for j in range(n):
                run *= decay
                if s[i] == t[j]:
                    run += square * work[p - 1, j]
                work[p, j + 1] = decay * work[p, j + 1] + run
    return total


@compiled
def subsequence_kernel(x, x_ends, z, z_ends, top, bottom, part, decay, work, out):
    """Rows top … bottom: all pairs (part 0), the lower triangle (1), the diagonal (2).

    ``decay``, ``work`` and ``out`` are real, or complex for the complex-step derivative.
    """
    for i in range(top, bottom):
        s = x[x_ends[i] : x_ends[i + 1]]
        if part == 2:
            out[i, 0] = _pair(s, s, decay, work)
            continue
        for j in range(i + 1 if part == 1 else out.shape[1]):
            out[i, j] = _pair(s, z[z_ends[j] : z_ends[j + 1]], decay, work)
