"""The output of code in the guides: it runs when the site is built, and its output stands below.

Blocks marked ``python`` of one page run in order, in one namespace, like cells of a notebook: what
a block prints, the value of its last line, and the pictures it leaves are shown. A block that fails
stops the build. Blocks marked ``py`` need a file or a service of the reader's: they do not run.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import tempfile
import textwrap
import warnings
from pathlib import Path
from typing import Any

from displays import alone, figure_svg, reset

from separatrix import SeparatrixWarning
from separatrix.pictures import Display

BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
#: Lines of one output; more are left out of its middle.
MOST_LINES = 40
#: Letters of a line that does not belong to a table.
WIDTH = 86
#: Pictures, beside the pages that are made from docstrings and examples.
FOLDER = "outputs"


class Page:
    """The namespace of one page, and its pictures so far."""

    def __init__(self, source: Path, name: str) -> None:
        self.source, self.name = source, name
        self.names: dict[str, Any] = {"__name__": "page"}
        self.n_pictures = 0

    def run(self, code: str) -> str:
        """Run a block; return what stands below it, as Markdown."""
        printed = io.StringIO()

        def say(message: Any, category: type[Warning], *_: Any) -> None:
            print(f"{category.__name__}: {message}", file=printed)

        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(io.StringIO()),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", SeparatrixWarning)
            warnings.showwarning = say
            value = self._evaluate(code)
        shown = printed.getvalue().rstrip("\n")
        parts = [fenced(shown)] if shown else []
        several = isinstance(value, list | tuple) and all(isinstance(one, Display) for one in value)
        for one in value if several else [value]:
            if isinstance(one, Display):
                parts.append(self._picture(one._repr_svg_(), one.description, one.caption))
            elif hasattr(one, "_repr_html_"):
                parts.append(f"```{{raw}} html\n{one._repr_html_()}\n```\n")
            elif one is not None:
                parts.append(fenced(repr(one)))
        return "\n".join(parts + self._figures())

    def _evaluate(self, code: str) -> Any:
        """The value of the last line, where that is an expression."""
        tree = ast.parse(code)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, self.name, "exec"), self.names)
        if last is None:
            return None
        return eval(compile(ast.Expression(last.value), self.name, "eval"), self.names)

    def _figures(self) -> list[str]:
        """Figures that pyplot holds open."""
        from matplotlib import pyplot as plt

        svgs = [figure_svg(plt.figure(number)) for number in plt.get_fignums()]
        plt.close("all")
        return [self._picture(svg) for svg in svgs]

    def _picture(self, svg: str, description: str = "", caption: str = "") -> str:
        self.n_pictures += 1
        path = f"{FOLDER}/{self.name.replace('/', '-')}-{self.n_pictures}.svg"
        (self.source / FOLDER).mkdir(exist_ok=True)
        (self.source / path).write_text(alone(svg), encoding="utf-8")
        caption, description = " ".join(caption.split()), " ".join(description.split())
        return f"```{{figure}} /{path}\n:alt: {description}\n\n{escaped(caption)}\n```\n"


def escaped(text: str) -> str:
    """Names of columns and the like are not markup."""
    return re.sub(r"([\\*`_|$<])", r"\\\1", text)


def fenced(text: str) -> str:
    """Output as a block of its own; what is too long is cut in its middle, and says so."""
    lines = [part for line in text.splitlines() for part in _wrapped(line)]
    if len(lines) > MOST_LINES:
        half = MOST_LINES // 2
        gap = f"… {len(lines) - 2 * half} lines …"
        lines = [*lines[:half], gap, *lines[-half:]]
    body = "\n".join(lines)
    return f"````{{code-block}} text\n:class: output\n\n{body}\n````\n"


def _wrapped(line: str) -> list[str]:
    """Sentences in several lines; tables, which have runs of spaces, as they are."""
    if len(line) <= WIDTH or re.search(r"\S {2,}\S", line):
        return [line]
    return textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)


def execute(text: str, page: Page) -> str:
    """A page with the output of every block below it."""
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return BLOCK.sub(lambda found: f"{found[0]}\n{page.run(found[1])}\n", text)
        finally:
            os.chdir(home)


def read(app: Any, name: str, source: list[str]) -> None:
    """Called by Sphinx with the text of a page, before it is parsed."""
    path = Path(app.env.doc2path(name))
    if path.suffix == ".md" and BLOCK.search(source[0]):
        reset()
        source[0] = execute(source[0], Page(Path(app.srcdir), name))


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
