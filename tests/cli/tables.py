"""Tables as nobody would write them: hostile names and levels, gaps, few rows, constants."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

from hypothesis import strategies as st

#: Names and levels that mean something to HTML, CSV, matplotlib, Python or the command line.
HOSTILE = (
    "",
    " ",
    "a",
    "y",
    "$x$",
    "$",
    "$\\frac{1}{2}$",
    "_hidden",
    "a_b^c",
    "{x}",
    "%s",
    "\\",
    "\\n",
    "<b>bold</b>",
    "<script>alert(1)</script>",
    "&amp;",
    '"quoted"',
    "it's",
    "a,b",
    "a=b",
    "a;b",
    "a\tb",
    "line\nbreak",
    "-1",
    "1e9",
    "NaN",
    "id",
    "weight",
    "missing",
    "x" * 300,
    "naïve Größe",
    "数字",
    "🙂",
    "‮reversed",
    "a\u0301",
    "#",
    "=1+1",
    "prediction",
    "target",
    "row",
    "cluster",
)

names = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(codec="utf-8"), max_size=8))


@dataclass(frozen=True)
class FuzzedTable:
    """Columns by position (a table may repeat a name), and the one to predict."""

    header: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    target: str

    @property
    def text(self) -> str:
        """The table as CSV."""
        stream = io.StringIO()
        writer = csv.writer(stream)
        writer.writerow(self.header)
        writer.writerows(zip(*self.columns, strict=True))
        return stream.getvalue()


def _values(kind: str) -> st.SearchStrategy[str]:
    if kind == "number":
        return st.floats(-1e6, 1e6).map(lambda v: f"{v:.6g}")
    if kind == "extreme":
        return st.sampled_from(["0", "1e300", "-1e300", "1e-300", "1", "3.5", "1e150"])
    if kind == "whole":
        return st.integers(0, 3).map(str)
    if kind == "boolean":
        return st.sampled_from(["true", "false"])
    if kind == "date":
        return st.dates().map(str)
    if kind == "levels":
        return st.sampled_from(HOSTILE[4:14])
    if kind == "constant":
        return st.just("7")
    return st.just("")  # all missing


KINDS = (
    *("number", "number", "extreme", "whole", "boolean"),
    *("date", "levels", "levels", "constant", "missing"),
)


@st.composite
def tables(draw: st.DrawFn, rows: st.SearchStrategy[int] | None = None) -> FuzzedTable:
    """A table of one to five columns."""
    n = draw(rows if rows is not None else st.integers(1, 12))
    once = draw(st.integers(0, 9)) > 0  # repeated names are refused, which is soon tried enough
    header = draw(st.lists(names, min_size=2 if once else 1, max_size=5, unique=once))
    columns = []
    for _ in header:
        values = _values(draw(st.sampled_from(KINDS)))
        if draw(st.booleans()):
            values = st.one_of(values, values, values, st.just(""))
        columns.append(tuple(draw(st.lists(values, min_size=n, max_size=n))))
    return FuzzedTable(tuple(header), tuple(columns), draw(st.sampled_from(header)))
