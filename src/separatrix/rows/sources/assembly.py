"""Decoded columns as one matrix of raw terms: dense, or sparse when most entries are zero."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.rows.block import Floats, Matrix
from separatrix.rows.buffers import scratch
from separatrix.rows.schema import Column, Term, Terms
from separatrix.rows.sources.columns import MISSING_CODE, Levels, Numbers

#: Blocks with more terms than this, most of them zero, are sparse.
MAX_DENSE_TERMS = 64

Columns = dict[str, Numbers | Levels]


def assemble(columns: tuple[Column, ...], decoded: Columns, n: int) -> tuple[Matrix, Terms]:
    """Columns as a matrix of raw terms: dense in Fortran order, or CSR when mostly zeros."""
    terms = Terms(tuple(t for column in columns for t in _terms(column, decoded[column.name])))
    nonzero = len(columns) + 1  # per row
    to_matrix = _to_csr if len(terms) > max(MAX_DENSE_TERMS, 8 * nonzero) else _to_dense
    return to_matrix(columns, decoded, terms, n), terms


def _terms(column: Column, found: Numbers | Levels) -> list[Term]:
    if isinstance(found, Levels):
        terms = [Term(column.name, level=level) for level in found.names]
    else:
        terms = [Term(column.name)]
    if found.missing is not None:
        terms.append(Term(column.name, missing=True))
    return terms


def _to_dense(columns: tuple[Column, ...], decoded: Columns, terms: Terms, n: int) -> Floats:
    x = scratch((n, len(terms)))
    j = 0
    for column in columns:
        found = decoded[column.name]
        if isinstance(found, Levels):
            known = np.flatnonzero(found.codes >= 0)
            x[:, j : j + len(found.names)] = 0.0
            x[known, j + found.codes[known]] = 1.0
            j += len(found.names)
        else:
            x[:, j] = found.values
            if found.missing is not None:
                x[found.missing, j] = column.placeholder
            j += 1
        if found.missing is not None:
            x[:, j] = found.missing
            j += 1
    return x


def _to_csr(columns: tuple[Column, ...], decoded: Columns, terms: Terms, n: int) -> Matrix:
    levels = [found for c in columns if isinstance(found := decoded[c.name], Levels)]
    if len(levels) == len(columns) and all(
        found.codes.min(initial=0) >= MISSING_CODE for found in levels
    ):
        return _levels_to_csr(levels, len(terms), n)
    entries: list[tuple[NDArray[np.int32], NDArray[np.int32], Floats]] = []
    j = 0
    for column in columns:
        found = decoded[column.name]
        if isinstance(found, Levels):
            rows = _rows_where(found.codes >= 0)
            entries.append(
                (rows, np.int32(j) + found.codes[rows].astype(np.int32), np.ones(len(rows)))
            )
            j += len(found.names)
        else:
            values = np.where(np.isnan(found.values), column.placeholder, found.values)
            rows = _rows_where(values != 0.0)
            entries.append((rows, np.full(len(rows), j, dtype=np.int32), values[rows]))
            j += 1
        if found.missing is not None:
            rows = _rows_where(found.missing)
            entries.append((rows, np.full(len(rows), j, dtype=np.int32), np.ones(len(rows))))
            j += 1
    i, at, data = (np.concatenate(part) for part in zip(*entries, strict=True))
    return sparse.csr_array((data, (i, at)), shape=(n, len(terms)))


def _rows_where(mask: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Positions in half of the memory: a batch has fewer than 2³¹ rows."""
    return np.flatnonzero(mask).astype(np.int32)


def _levels_to_csr(columns: list[Levels], width: int, n: int) -> Matrix:
    """One entry for each column of a row: that of its level, or of the missing value."""
    at = np.empty((n, len(columns)), dtype=np.int32)
    first = 0
    for j, found in enumerate(columns):
        missing = found.missing
        known = len(found.names)
        codes = found.codes if missing is None else np.where(missing, known, found.codes)
        np.add(codes, first, out=at[:, j], casting="unsafe")
        first += known + (missing is not None)
    ends = np.arange(0, n * len(columns) + 1, len(columns), dtype=np.int32)
    return sparse.csr_array((np.ones(at.size), at.reshape(-1), ends), shape=(n, width))
