"""Σ w x of every class and column, dense or sparse, in one pass on threads; and logarithms of it.

    Nₖⱼ = Σ w xⱼ        over the rows of class k

Work is cut by rows, at places that depend on the data alone; sums of pieces are added in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Ints, Matrix
from separatrix.statistics.moments import counting_argsort
from separatrix.threads import parallel_map, pieces

#: Numbers that are worth a piece of their own.
MIN_NUMBERS = 32_768
#: A piece reads so many times the numbers of the table of sums that it fills, at least.
REUSE = 8


@dataclass(frozen=True)
class ClassCounts:
    """``counts`` (K x d), and whether all values are numbers of at least zero."""

    counts: Floats
    non_negative: bool


def class_counts(x: Matrix, codes: Ints, w: Floats | None, k: int) -> ClassCounts:
    """Sums by class; a sparse matrix is never filled in, and its duplicates add up."""
    weights = np.empty(0) if w is None else np.ascontiguousarray(w, dtype=np.float64)
    count = _count_compressed if sparse.issparse(x) else _dense
    return count(x, np.ascontiguousarray(codes, dtype=np.int64), weights, k)


def _dense(x: Any, codes: Ints, w: Floats, k: int) -> ClassCounts:
    from separatrix.statistics.loops import add_counts

    n, d = x.shape
    # Rows of a dense piece that are converted at a time, so that they stay in the cache.
    step = max(1, 32_768 // max(d, 1))

    def one(rows: slice) -> ClassCounts:
        counts, good = np.zeros((k, d)), True
        for start in range(rows.start, rows.stop, step):
            here = slice(start, min(start + step, rows.stop))
            part = np.ascontiguousarray(x[here], dtype=np.float64)
            good &= add_counts(part, codes[here], w[here] if len(w) else w, counts)
        return ClassCounts(counts, good)

    found = parallel_map(one, pieces(n, max(REUSE * k, MIN_NUMBERS // max(d, 1))))
    total = found[0].counts
    for other in found[1:]:
        total += other.counts
    return ClassCounts(total, all(other.non_negative for other in found))


def _count_compressed(x: Any, codes: Ints, w: Floats, k: int) -> ClassCounts:
    from separatrix.statistics.loops import add_compressed_counts

    d = x.shape[1]
    indptr = x.indptr.astype(np.int64, copy=False)
    indices = x.indices.astype(np.int32, copy=False)
    data = x.data.astype(np.float64, copy=False)
    order = counting_argsort(codes)
    counts = np.zeros((k, d))

    def one(piece: _Piece) -> tuple[Floats | None, bool]:
        whole = piece.whole
        table = counts if whole else np.zeros((1, d))
        first = 0 if whole else piece.first
        rows = order[piece.start : piece.stop]
        good = add_compressed_counts(rows, codes, first, indptr, indices, data, w, table)
        return None if whole else table, good

    work = _pieces_by_class(codes, np.diff(indptr), order, k, d)
    found = parallel_map(one, work)
    for piece, (table, _) in zip(work, found, strict=True):
        if table is not None:
            counts[piece.first] += table[0]
    return ClassCounts(counts, all(good for _, good in found))


@dataclass(frozen=True)
class _Piece:
    """Positions in the order by class: whole classes, or a part of the class ``first``."""

    start: int
    stop: int
    first: int
    whole: bool


def _pieces_by_class(codes: Ints, entries: Ints, order: Ints, k: int, d: int) -> list[_Piece]:
    """Whole classes up to enough entries for a piece; large classes in several pieces."""
    total = int(entries.sum())
    enough = max(MIN_NUMBERS, total // 64)
    ends = np.cumsum(np.bincount(codes, minlength=k))
    by_class = np.bincount(codes, entries, k).astype(np.int64)
    pieces: list[_Piece] = []
    start, gathered = 0, 0
    for c in range(k):
        first, stop = int(ends[c - 1]) if c else 0, int(ends[c])
        parts = int(by_class[c]) // max(enough, REUSE * d)
        if parts > 1:
            if gathered:
                pieces.append(_Piece(start, first, 0, True))
            pieces += _parts(first, stop, c, np.cumsum(entries[order[first:stop]]), parts)
            start, gathered = stop, 0
            continue
        gathered += int(by_class[c])
        if gathered >= enough:
            pieces.append(_Piece(start, stop, 0, True))
            start, gathered = stop, 0
    if start < len(order):
        pieces.append(_Piece(start, len(order), 0, True))
    return pieces


def _parts(first: int, stop: int, c: int, filled: Ints, parts: int) -> list[_Piece]:
    """A class in pieces of about as many entries each."""
    goals = filled[-1] * np.arange(1, parts) // parts
    cuts = [first, *(first + np.searchsorted(filled, goals)).tolist(), stop]
    return [_Piece(a, b, c, False) for a, b in pairwise(cuts) if b > a]


def log_counts(counts: Floats, added: float | Floats, totals: Floats) -> Floats:
    """ln(Nₖⱼ + aⱼ) − ln tₖ (K x d), −∞ for a count of zero to which nothing is added.

    Columns of the result are contiguous, for products of rows with them.
    """
    from separatrix.statistics.loops import log_counts as loop

    k, d = counts.shape
    out = np.empty((d, k))
    with np.errstate(divide="ignore"):
        minus = np.log(totals)
        if isinstance(added, np.ndarray):
            np.log((counts + added).T, out=out)
            out -= minus
            return out.T
        logs = np.log(np.arange(1024) + added)  # whole counts whose logarithms are computed once
    if not added:  # ln 0 once and for all: the loop takes no logarithm of zero
        logs[0] = -np.inf

    def one(columns: slice) -> None:
        loop(columns.start, columns.stop, counts, float(added), logs, minus, out)

    parallel_map(one, pieces(d, max(1, MIN_NUMBERS // k)))
    return out.T
