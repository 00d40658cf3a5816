"""Messages of a cluster analysis: what was inferred, and why this number of clusters."""

from __future__ import annotations

import math

from separatrix.rows.profile import ColumnProfile
from separatrix.study import inferred as announce
from separatrix.study.clustering import choice
from separatrix.study.clustering.design import ClusterDesign
from separatrix.study.clustering.methods import UNITLESS, Method
from separatrix.study.clustering.result import Step


def reason(steps: tuple[Step, ...], chosen: Step, asked: int | None) -> str:
    """Why so many clusters."""
    best = choice.best(steps)
    if asked is None:
        if math.isnan(chosen.silhouette):
            return f"{chosen.k} clusters, the fewest: any number only cuts off a few rows."
        if len(steps) == 1:
            return f"{chosen.k} clusters: the table is too small to try more."
        return (
            f"{chosen.k} clusters have the greatest silhouette ({chosen.silhouette:.2f}) of "
            f"{steps[0].k} to {steps[-1].k}."
        )
    if best.k == asked:
        return f"{asked} clusters were requested; no other number has a greater silhouette."
    if math.isnan(chosen.silhouette):
        return f"{asked} clusters were requested; all but one of them hold a few rows."
    return (
        f"{asked} clusters were requested (silhouette {chosen.silhouette:.2f}); {best.k} have "
        f"the greatest ({best.silhouette:.2f})."
    )


def inferred_messages(
    design: ClusterDesign,
    way: Method,
    columns: tuple[ColumnProfile, ...],
    searched: int,
    tested: int,
) -> tuple[str, ...]:
    """Columns, standardization, discrete columns, samples."""
    table = design.table
    messages = [*table.notes]
    if table.dropped:
        messages.append(
            f"{table.dropped} rows are left out: a value is missing (override: --missing)."
        )
    messages += announce.about_columns(columns, table.schema)
    messages += [_standardization(design, way), *_categories(design, way)]
    n = len(design.x)
    if searched < n:
        messages.append(
            f"The number of clusters was chosen on {searched:,} rows drawn at random, and cluster "
            f"structure was tested on {tested:,}; the model is fitted to all {n:,}."
        )
    elif tested < n:
        messages.append(f"Cluster structure was tested on {tested:,} rows drawn at random.")
    return tuple(messages)


def _standardization(design: ClusterDesign, way: Method) -> str:
    if design.standardized:
        return (
            "Columns are standardized: distances are in standard deviations, so that units do not "
            "matter (override: --no-standardize, if all columns share one unit)."
        )
    if way.metric in UNITLESS:
        return f"Columns are not standardized: {way.metric} distances do not depend on units."
    return (
        "Columns are not standardized, as requested: a column in small units counts for more "
        "(leave out --no-standardize unless all share one unit)."
    )


def _categories(design: ClusterDesign, way: Method) -> list[str]:
    if not design.groups:
        return []
    if way.metric == "gower":
        return ["Discrete columns count 0 where two rows agree and 1 where they do not (gower)."]
    return [
        "Discrete columns are compared as 0/1 columns, one for each level but the most frequent "
        "(as plain agreement: --method kmedoids --metric gower)."
    ]
