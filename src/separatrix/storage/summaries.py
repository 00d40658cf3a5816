"""Tables reduced to moments where their rows are, and moments of several tables added up."""

from __future__ import annotations

from collections.abc import Sequence

from separatrix.messages import InputError
from separatrix.rows.parts import Parts
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Kind
from separatrix.rows.sources.reader import no_usable_rows
from separatrix.statistics.by_class.parts import ClassMomentsByPart
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moments import Moments
from separatrix.storage.moments_file import StoredMoments


def summarize(rows: Rows, parts: Parts | None = None, *, min_rows: int = 1) -> StoredMoments:
    """Moments of a table by part, and of classes by part and class, in one pass over its rows.

        μ = Σ w x / Σ w,    S = Σ w (x − μ)(x − μ)ᵀ        for every fold and the test part

    Those of several tables add up to the moments of all their rows: the part of a row follows from
    its content and the seed alone, also where rows are in memory.

    Parameters
    ----------
    rows : Rows
        A table with one target, from :func:`separatrix.scan`.
    parts : Parts, default=None
        The split; None is ``Parts()``. Tables that are to be added need the same.
    min_rows : int, default=1
        Refuse if any sum is over fewer rows: of a part, of a class in it, of a level or a missing
        value, or of a pair of them in two columns.

    Returns
    -------
    StoredMoments
        With the schema and the split; ``+`` adds those of another table.

    See Also
    --------
    merge_moments : Add the moments of several tables.
    save_moments : Write them to a file.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.samples import sample
    >>> from separatrix.storage import summarize
    >>> stored = summarize(sx.scan(sample("wine").path, target="cultivar"), sx.Parts(folds=3))
    >>> sorted(stored.counts), sum(stored.counts.values())
    ([-1, 0, 1, 2], 178)
    >>> sx.run_study(stored).task
    'classification'
    """
    parts = Parts() if parts is None else parts
    schema = rows.schema
    if len(schema.targets) != 1:
        raise InputError(
            f"Moments have one target, and {len(schema.targets)} are named.",
            remedy="Name one: scan(…, target='column').",
        )
    if schema.missing == "regress":
        raise InputError(
            "Imputation by regression needs several passes over the rows.",
            remedy="Summarize with --missing mean or --missing indicator.",
        )
    labeled = _by_content(rows, parts)
    groups: Grouped[Moments] | ClassMomentsByPart
    if schema.targets[0].kind is Kind.NUMERIC:
        groups = labeled.reduce(Grouped(Moments()))
    else:
        groups = labeled.reduce(ClassMomentsByPart())
    stored = StoredMoments(labeled.schema, parts, groups)
    if not any(stored.counts.values()):
        raise no_usable_rows(schema, rows.dropped, None)
    stored.require_rows(min_rows)
    return stored


def _by_content(rows: Rows, parts: Parts) -> Rows:
    """Rows with parts that are the same whichever other rows a table has, as those of a stream.

    Parts of exact size, which rows in memory have elsewhere, depend on all of them; so do parts in
    order of time, and those stay as they are.
    """
    if not isinstance(rows, InMemory) or rows.keys.times is not None:
        return rows.with_parts(parts)
    groups = rows.keys.groups
    return rows.with_parts(parts.assign(rows.hashes if groups is None else groups))


def merge_moments(stored: Sequence[StoredMoments], *, min_rows: int = 1) -> StoredMoments:
    """The moments of all tables together: their sum.

    Parameters
    ----------
    stored : sequence of StoredMoments
        Moments of tables with the same columns, options and split; levels may differ.
    min_rows : int, default=1
        Refuse if any sum of one of the tables, or of all together, is over fewer rows: see
        :func:`summarize`.

    Returns
    -------
    StoredMoments
        As of one table with all rows.

    See Also
    --------
    summarize : The moments of one table.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.storage import merge_moments, summarize
    >>> north = sx.scan({"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 2.5]}, target="y")
    >>> south = sx.scan({"x": [4.0, 5.0], "y": [4.5, 5.0]}, target="y")
    >>> both = merge_moments([summarize(north), summarize(south)])
    >>> sum(both.counts.values())
    5
    """
    if not stored:
        raise InputError("There are no moments to merge.", remedy="Give at least one.")
    for number, one in enumerate(stored, start=1):
        try:
            one.require_rows(min_rows)
        except InputError as problem:
            what = f"moments {number} of {len(stored)}: {problem.what}"
            raise InputError(what, remedy=problem.remedy) from problem
    total = stored[0]
    for other in stored[1:]:
        total = total + other
    total.require_rows(min_rows)
    return total
