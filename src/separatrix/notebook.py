"""What objects look like where they are printed: sentences and tables, as text and as HTML.

    repr(x) = str(x) = as_text(what x displays),     a notebook shows as_html(what x displays)

An object lists its items once. Colors are those of the page around it, so that light and dark
notebooks look right; only badges bring their own, which differ from their text by more than 4.5:1.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

#: Lines of a table that are shown: its first and its last; a frame or a page has all of them.
MOST_LINES = 60

GOOD, BAD, MUTED = "good", "bad", "muted"


@dataclass(frozen=True)
class Sentence:
    """A paragraph. ``badge`` is a word before it, in green (``tone`` "good") or red ("bad")."""

    text: str
    tone: str = ""
    badge: str = ""


@dataclass(frozen=True)
class Heading:
    """A line above what follows."""

    text: str


@dataclass(frozen=True)
class Grid:
    """A table of texts: ``left`` are the columns of words, ``strong`` is the line that counts."""

    heads: Sequence[str]
    lines: Sequence[Sequence[str]]
    left: frozenset[int] = frozenset({0})
    strong: int | None = None
    caption: str = ""

    @property
    def cut(self) -> tuple[Sequence[Sequence[str]], int, Sequence[Sequence[str]]]:
        """The first lines, how many are left out, and the last."""
        if len(self.lines) <= MOST_LINES:
            return self.lines, 0, ()
        half = MOST_LINES // 2
        return self.lines[:half], len(self.lines) - 2 * half, self.lines[-half:]


@dataclass(frozen=True)
class Details:
    """Lines that few want to read: collapsed in a notebook, left out of the text."""

    title: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Preformatted:
    """Lines that are laid out already, for letters of equal width."""

    text: str


Item = Sentence | Heading | Grid | Details | Preformatted


class Shown:
    """An object that prints as its text, and shows itself in a notebook."""

    def _display(self) -> Sequence[Item]:
        """What there is to see; the text of an object that has one of its own."""
        text = str(self)
        return [Preformatted(text) if "\n" in text else Sentence(text)]

    def __str__(self) -> str:
        return as_text(self._display())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(self._display())


def as_text(items: Sequence[Item]) -> str:
    """Items with an empty line around each table."""
    parts: list[str] = []
    for item in items:
        if isinstance(item, Grid):
            parts += ["", *_grid_lines(item), ""]
        elif isinstance(item, Sentence):
            parts.append(f"{item.badge}: {item.text}" if item.badge else item.text)
        elif isinstance(item, Heading | Preformatted):
            parts.append(item.text)
    lines = [line for i, line in enumerate(parts) if line or (i and parts[i - 1])]
    return "\n".join(lines).strip("\n")


def _grid_lines(grid: Grid) -> list[str]:
    first, n_cut, last = grid.cut
    shown = [grid.heads, *first, *last]
    widths = [max(len(line[j]) for line in shown) for j in range(len(grid.heads))]
    lines = []
    for i, line in enumerate(shown):
        cells = [
            cell.ljust(width) if j in grid.left else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        if n_cut and i == len(first) + 1:
            lines.append(f"… {n_cut:,} lines …")
        lines.append("  ".join(cells).rstrip())
    return lines + ([grid.caption] if grid.caption else [])


STYLE = """
.separatrix-shown{font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;max-width:60em;
color:inherit}
.separatrix-shown p{margin:.25em 0}
.separatrix-shown .head{font-weight:600;font-size:14px;margin:.5em 0 .25em}
.separatrix-shown .muted{opacity:.75}
.separatrix-shown .badge{border-radius:.6em;padding:.05em .6em;margin-right:.5em;font-weight:600;
color:#fff;background:#57606a}
.separatrix-shown .badge.good{background:#1a7f37}
.separatrix-shown .badge.bad{background:#b3261e}
.separatrix-shown pre{font-size:12px;line-height:1.35;overflow-x:auto;margin:.25em 0;
background:transparent;color:inherit}
.separatrix-shown .wide{overflow-x:auto}
.separatrix-shown table{border-collapse:collapse;margin:.35em 0;font-size:inherit;
font-variant-numeric:tabular-nums;background:transparent;color:inherit}
.separatrix-shown th,.separatrix-shown td{padding:.15em .7em;text-align:right;
background:transparent;color:inherit;white-space:nowrap}
.separatrix-shown th{font-weight:600;border-bottom:1px solid currentColor}
.separatrix-shown table th.left,.separatrix-shown table td.left{text-align:left}
.separatrix-shown table td.long{white-space:normal;min-width:22em}
.separatrix-shown tr.strong td{font-weight:600}
.separatrix-shown tr+tr td{border-top:1px solid rgba(128,128,128,.25)}
.separatrix-shown caption{caption-side:bottom;text-align:left;opacity:.75}
""".replace("\n", "")


def as_html(items: Sequence[Item]) -> str:
    """The same as one element with its own style."""
    inside = "".join(_html(item) for item in items)
    return f'<div class="separatrix-shown"><style>{STYLE}</style>{inside}</div>'


def _html(item: Item) -> str:
    if isinstance(item, Grid):
        return _table(item)
    if isinstance(item, Preformatted):
        return f"<pre>{html.escape(item.text)}</pre>"
    if isinstance(item, Heading):
        return f'<p class="head">{html.escape(item.text)}</p>'
    if isinstance(item, Details):
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in item.lines)
        return f"<details><summary>{html.escape(item.title)}</summary>{lines}</details>"
    text = re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(item.text))
    if item.badge:
        badge = f'<span class="badge {item.tone}">{html.escape(item.badge)}</span>'
        return f"<p>{badge}{text}</p>"
    shade = ' class="muted"' if item.tone == MUTED else ""
    return f"<p{shade}>{text}</p>"


def _side(cell: str) -> str:
    """The class of a cell of words; a long one may be broken into several lines."""
    return ' class="left long"' if len(cell) > 40 else ' class="left"'


def _table(grid: Grid) -> str:
    def line(cells: Sequence[str], tag: str, strong: bool = False) -> str:
        side = [_side(cell) if j in grid.left else "" for j, cell in enumerate(cells)]
        inside = "".join(
            f"<{tag}{where}>{html.escape(cell)}</{tag}>"
            for where, cell in zip(side, cells, strict=True)
        )
        return f'<tr class="strong">{inside}</tr>' if strong else f"<tr>{inside}</tr>"

    first, n_cut, last = grid.cut
    body = [line(cells, "td", i == grid.strong) for i, cells in enumerate(first)]
    if n_cut:
        gap = f'<td class="left" colspan="{len(grid.heads)}">… {n_cut:,} lines …</td>'
        after = len(first) + n_cut
        body += [f"<tr>{gap}</tr>"]
        body += [line(cells, "td", after + i == grid.strong) for i, cells in enumerate(last)]
    caption = f"<caption>{html.escape(grid.caption)}</caption>" if grid.caption else ""
    head = f"<thead>{line(grid.heads, 'th')}</thead>"
    return f'<div class="wide"><table>{caption}{head}<tbody>{"".join(body)}</tbody></table></div>'
