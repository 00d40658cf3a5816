"""Design matrix of a cluster analysis, and messages on how it was made."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix.cluster.base import columns_by_level, zero_one_columns
from separatrix.estimators.skipped_values import with_missing
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.rows import InMemory
from separatrix.statistics.preparation import prepare
from separatrix.statistics.standardizer import Standardizer
from separatrix.study import inferred
from separatrix.study.clustering.methods import UNITLESS, Method
from separatrix.study.clustering.samples import RowSamples

#: Correlation from which a column is a copy of another, rows that are compared, and pairs named.
COPY, COMPARED_ROWS, NAMED = 0.99999, 5_000, 3


@dataclass(frozen=True)
class ClusterDesign:
    """Design matrix ``x`` as distances see it: imputed, encoded, standardized if requested.

    Gower's distance skips missing values: they are NaN there.

    ``z`` is what sums of squares and pictures go by: standardized if requested, even where the
    metric does not depend on units; ``raw`` is encoded only. ``categories`` are the columns of each
    discrete column; ``discrete`` those and the 0/1 columns.
    """

    table: InMemory
    x: Floats
    z: Floats
    raw: Floats
    names: tuple[str, ...]
    categories: tuple[tuple[int, ...], ...]
    discrete: list[list[int]]
    standardized: bool


def cluster_design(table: InMemory, method: Method, *, standardize: bool) -> ClusterDesign:
    """Encode the table; refuses one without a column that varies."""
    if not table.schema.names:
        raise InputError(
            "no column can be used.",
            remedy="Columns that name rows are left out; read one by `kinds={'NAME': 'discrete'}`.",
        )
    prepared = prepare(table)
    x = prepared.rows.collect().dense()
    terms = tuple(prepared.encoding.terms)
    discrete = zero_one_columns(prepared.encoding)
    scaled = standardize and method.metric not in UNITLESS
    if not x.shape[1] or not np.ptp(x, axis=0).any():
        raise InputError(
            "every row is the same: no column varies.",
            remedy="Check how the columns are read (`kinds={…}`).",
        )
    z = x
    if standardize:
        scales = Standardizer.from_rows(x, np.ones(len(x))).with_pooled_scales(discrete)
        z = scales.transform(x)
    compared = z if scaled else x
    if method.metric == "gower" and not prepared.encoding.is_identity:
        compared = with_missing(prepared.encoding, table.collect())
    return ClusterDesign(
        table,
        np.ascontiguousarray(compared),
        z,
        x,
        tuple(str(term) for term in terms),
        tuple(map(tuple, columns_by_level(prepared.encoding))),
        discrete,
        scaled,
    )


def inferred_messages(
    design: ClusterDesign,
    method: Method,
    columns: tuple[ColumnProfile, ...],
    samples: RowSamples,
) -> tuple[str, ...]:
    """Messages on columns, standardization, discrete columns, copies and samples of rows."""
    table = design.table
    messages = [*table.notes]
    if table.dropped:
        messages.append(
            f"{table.dropped} rows are left out: a value is missing (override: `missing`)."
        )
    schema = table.schema
    if method.metric == "gower" and schema.missing != "drop":
        schema = replace(schema, missing="skip")
    messages += inferred.about_columns(columns, schema)
    messages += _copied_columns(design)
    messages += [_standardization(design, method), *_categories(design, method)]
    return (*messages, *_samples(len(design.x), samples))


def _samples(n: int, samples: RowSamples) -> list[str]:
    messages = []
    if samples.copies:
        messages.append(
            f"{samples.copies:,} of {n:,} rows are exact copies of others: groups are looked for "
            "in the different rows, and all rows are assigned to them."
        )
    searched, tested, different = len(samples.searched), len(samples.tested), n - samples.copies
    if searched < different:
        messages.append(
            f"The number of clusters is chosen on {searched:,} rows drawn at random, and compared "
            f"with tables without groups on {tested:,}; the model is fitted to all {n:,}."
        )
    elif tested < different:
        messages.append(
            f"The clusters are compared with tables without groups on {tested:,} rows drawn at "
            "random."
        )
    return messages


def _copied_columns(design: ClusterDesign) -> list[str]:
    """Numeric columns that say the same in another unit: distances count them twice."""
    zero_one = {j for group in design.discrete for j in group}
    numeric = [j for j in range(design.raw.shape[1]) if j not in zero_one]
    x = design.raw[:: max(1, len(design.raw) // COMPARED_ROWS)][:, numeric]
    x = x - x.mean(axis=0)
    length = np.linalg.norm(x, axis=0)
    x /= np.where(length > 0, length, np.inf)
    alike = np.argwhere(np.triu(np.abs(x.T @ x) > COPY, 1))
    pairs = [f"{design.names[numeric[i]]!r} and {design.names[numeric[j]]!r}" for i, j in alike]
    if not pairs:
        return []
    more = f" and {len(pairs) - NAMED} more pairs" if len(pairs) > NAMED else ""
    return [
        f"The same in other units, and so counted twice: {'; '.join(pairs[:NAMED])}{more} (leave "
        "one out: `kinds={'NAME': 'ignore'}`)."
    ]


def _standardization(design: ClusterDesign, method: Method) -> str:
    if design.standardized:
        return (
            "Columns are standardized: distances are in standard deviations, so that units do not "
            "matter (override: `standardize=False`, if all columns share one unit)."
        )
    if method.metric in UNITLESS:
        return f"Columns are not standardized: {method.metric} distances do not depend on units."
    return (
        "Columns are not standardized, as requested: a column in small units counts for more "
        "(leave out `standardize=False` unless all share one unit)."
    )


def _categories(design: ClusterDesign, method: Method) -> list[str]:
    if not design.categories:
        return []
    if method.metric == "gower":
        return ["Discrete columns count 0 where two rows agree and 1 where they do not (gower)."]
    together = ", which together count no more than a numeric column" if design.standardized else ""
    return [
        "Discrete columns are compared as 0/1 columns, one for each level but the most frequent"
        f"{together} (as plain agreement: `method='kmedoids'` with `metric='gower'`)."
    ]
