"""Pictures of the examples: SVG files that follow the reader's light or dark theme.

An example shows a display of the library by ending a cell with it, or any figure of pyplot. Both
become files of their own (:func:`alone`), with the description of the display as text alternative.
"""

from __future__ import annotations

import io
import re
import warnings
from importlib import resources
from pathlib import Path
from typing import Any

from separatrix import SeparatrixWarning
from separatrix.compilation import watch
from separatrix.pictures import Display
from separatrix.pictures.style import GRID, HEIGHT, SERIES, SETTINGS, VARIABLES, WIDTH

#: Paper around a picture that stands alone.
MARGIN = 10


def alone(svg: str) -> str:
    """A file of its own: with a size, paper behind it, and the two palettes of the report."""
    css = resources.files("separatrix.report").joinpath("style.css").read_text(encoding="utf-8")
    palettes = css[: css.index("* {")].replace(":root", "svg")
    box = r'viewBox="0 0 ([\d.]+) ([\d.]+)"'
    width, height = (float(side) + 2 * MARGIN for side in re.search(box, svg).groups())
    frame = f'width="{width:g}" height="{height:g}" '
    frame += f'viewBox="{-MARGIN} {-MARGIN} {width:g} {height:g}"'
    svg = re.sub(box, frame, svg, count=1)
    start = svg.index(">", svg.index("<svg")) + 1
    paper = f'<rect x="{-MARGIN}" y="{-MARGIN}" width="100%" height="100%" fill="var(--paper)"/>'
    return f"{svg[:start]}<style>{' '.join(palettes.split())}</style>{paper}{svg[start:]}\n"


def figure_svg(figure: Any) -> str:
    """matplotlib's SVG of a figure, the colors of our palette as variables."""
    page = io.StringIO()
    figure.patch.set_visible(False)
    figure.savefig(page, format="svg", metadata={"Date": None, "Creator": None})
    svg = page.getvalue()[page.getvalue().index("<svg") :]
    svg = re.sub(r'(<svg [^>]*?) width="[^"]*"', r"\1", re.sub(r' height="\d[^"]*pt"', "", svg))
    colors = re.compile("|".join(VARIABLES), re.IGNORECASE)
    return colors.sub(lambda found: f"var(--{VARIABLES[found[0].lower()]})", svg)


def scrape(_: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """The pictures that a cell of an example leaves, as reStructuredText."""
    from matplotlib import pyplot as plt

    last = variables["example_globals"].get("___")
    shown = last if isinstance(last, Display) else None
    figures = [plt.figure(number) for number in plt.get_fignums()]
    svgs = [figure_svg(figure) for figure in figures] or ([shown._repr_svg_()] if shown else [])
    plt.close("all")
    variables["example_globals"]["___"] = None
    text = ""
    for svg, path in zip(svgs, variables["image_path_iterator"], strict=False):
        file = Path(path).with_suffix(".svg")
        file.write_text(alone(svg), encoding="utf-8")
        text += _figure(file.relative_to(settings["src_dir"]).as_posix(), shown)
    return text


def _figure(path: str, display: Display | None) -> str:
    """A figure, with the words of the display if it is one."""
    lines = ["", f".. figure:: /{path}"]
    if display is not None:
        lines += [
            f"   :alt: {_escaped(display.description)}",
            "",
            f"   {_escaped(display.caption)}",
        ]
    return "\n".join([*lines, "", ""])


def _escaped(text: str) -> str:
    """Names of columns and the like are not markup."""
    return re.sub(r"([\\*`_|])", r"\\\1", " ".join(text.split()))


def reset(*_: Any) -> None:
    """Before each example: our style for figures; a warning that it does not catch is an error."""
    import matplotlib
    from cycler import cycler

    matplotlib.rcParams.update(
        SETTINGS
        | {
            "axes.prop_cycle": cycler(color=SERIES),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.axisbelow": True,
            "axes.facecolor": "none",
            "axes.grid": True,
            "axes.titlesize": 9.5,
            "grid.color": GRID,
            "grid.linewidth": 0.7,
            "xtick.major.size": 0,
            "ytick.major.size": 0,
            "legend.frameon": False,
            "legend.fontsize": 9,
            "figure.figsize": (WIDTH, HEIGHT),
            "figure.constrained_layout.use": True,
            "scatter.edgecolors": "none",
        }
    )
    warnings.filterwarnings("error", category=SeparatrixWarning)
    watch.announced = True  # the first build compiles, and its pages are those of any other


def _get_sg_image_scraper() -> Any:
    """Found by sphinx-gallery under the name of this module."""
    return scrape


def forget(app: Any) -> None:
    """Remove the pages of examples that are gone: a page that nothing lists is an error."""
    source, made = Path(app.srcdir) / "examples", Path(app.srcdir) / "gallery"
    for page in made.glob("*/*.py.md5"):
        name = page.name.removesuffix(".py.md5")
        if not (source / page.parent.name / f"{name}.py").exists():
            for path in page.parent.glob(f"{name}.*"):
                path.unlink()


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", forget)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
