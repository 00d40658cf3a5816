"""``separatrix query``: the rows of a table whose labels would tell a stored model most."""

from __future__ import annotations

from typing import Any

import click

from separatrix.cli.ids import ALL, Ids, copied_columns
from separatrix.cli.options import as_written, json_option, table_at, text_options
from separatrix.cli.output import print_json, say
from separatrix.cli.predict import file_at, rows_to
from separatrix.messages import InputError

HEADINGS = ["predicted", "score"]


@click.command(short_help="Find the rows worth labeling next.")
@click.argument("model")
@click.argument("table")
@click.option(
    "-k", "count", type=click.IntRange(min=1), default=20, show_default=True, metavar="ROWS",
    help="How many rows.",
)  # fmt: skip
@click.option(
    "--strategy",
    type=click.Choice(["auto", "version_space", "margin"]),
    default="auto",
    show_default=True,
    help="Between the most specific and most general boxes, or where two classes are close.",
)
@click.option(
    "--out", metavar="FILE", help="CSV or Parquet file (by its name) instead of standard output."
)
@click.option(
    "--keep",
    multiple=True,
    is_flag=False,
    flag_value=ALL,
    metavar="[COLUMN]",
    help="Copy this column beside the rows; without a name, every column. Repeatable.",
)
@text_options
@json_option
def query(
    model: str,
    table: str,
    count: int,
    strategy: str,
    out: str | None,
    keep: tuple[str, ...],
    as_json: bool,
    **written: Any,
) -> None:
    """Choose the rows of TABLE, which has no labels, whose labels would tell MODEL most.

    MODEL is a model.sx file or the directory that contains it, of classes. Rows come the most
    telling first, by their number in the table, and are far from one another: rows alike tell the
    same. Label them, add them to the training table, and fit again.

    \b
    Try:
      separatrix fit sample:wine --target cultivar --out wine
      separatrix query wine sample:wine -k 5 --keep
    """
    file = file_at(out)
    from separatrix.rows.notations import text_options as checked
    from separatrix.rows.scan import rows_like
    from separatrix.study.answers import load_predictor

    fitted, schema = load_predictor(model)

    rows: Any = rows_like(table_at(table), schema, text=checked(**as_written(written)))
    queried, predicted, n = _found(fitted, rows.read(), count, strategy)
    copied = copied_columns(rows.source.arrow.names, keep, taken=["row", *HEADINGS])
    ids = CopiedColumns(Ids(rows.source, copied), queried.rows, n)
    say(f"· {queried.note}" if queried.note else f"· Chosen of {n:,} rows: {queried.reason}.",
        quiet=as_json)  # fmt: skip
    first, last = [queried.rows + 1], [predicted, queried.scores]
    if as_json:
        names = ["row", *copied, *HEADINGS]
        _print(
            dict(zip(names, [*first, *ids.take(len(queried)), *last], strict=True)), queried, fitted
        )
        return
    with rows_to(file, ["row"], ids, HEADINGS) as write:  # type: ignore[arg-type]
        write(first, last, len(queried))
    if file is not None:
        say(f"Wrote {len(queried):,} rows to {file}")


def _found(fitted: Any, rows: Any, count: int, strategy: str) -> tuple[Any, Any, int]:
    """The rows worth labeling, the classes predicted for them, and how many rows there are."""
    import numpy as np
    from sklearn.base import is_classifier

    from separatrix.hypotheses.query import query as choose
    from separatrix.threads import one_blas_thread

    if not is_classifier(fitted):
        raise InputError(
            f"the model is a {type(fitted).__name__}: rows are chosen for models of classes.",
            remedy="Fit a table whose target holds classes.",
        )
    with one_blas_thread():
        chosen = choose(fitted, rows, count, strategy=strategy)
        predicted = np.asarray(fitted.predict(rows))[chosen.rows]
    return chosen, predicted, len(rows)


class CopiedColumns:
    """The copied columns at some rows, in their order, read in one pass over the table."""

    def __init__(self, ids: Ids, rows: Any, n: int) -> None:
        self.columns = ids.columns
        self._ids, self._rows, self._n = ids, rows, n

    def take(self, _: int) -> list[list[Any]]:
        """The values of each column at the rows."""
        return [[values[i] for i in self._rows.tolist()] for values in self._ids.take(self._n)]

    def take_arrow(self, _: int) -> list[Any]:
        """The same as Arrow columns."""
        return [values.take(self._rows) for values in self._ids.take_arrow(self._n)]


def _print(columns: dict[str, Any], document: Any, fitted: Any) -> None:
    from separatrix.study.document import plain

    print_json(
        {
            "model": type(fitted).__name__,
            "strategy": document.strategy,
            "reason": document.reason,
            "note": document.note,
            "rows": {name: plain(values) for name, values in columns.items()},
        }
    )
