"""Pages without drawing: a picture as its words and a fingerprint of the numbers it is drawn from.

Drawing takes nearly all of the time of a page, and depends on the display alone: the same numbers
give the same bytes (``tests/pictures/test_every_picture.py``). So two pages of sketches are equal
where the pages are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

import numpy as np
import pytest

from separatrix.pictures.display import Display
from separatrix.report import render
from separatrix.study.result import Study


@contextmanager
def sketches() -> Iterator[None]:
    """Displays are sketched as long as this lasts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Display, "to_svg", sketch)
        yield


def sketched_page(study: Study) -> str:
    """The page of a study with sketches for pictures."""
    with sketches():
        return render(study)


def sketch(display: Display, prefix: str = "picture") -> str:
    """Heading and description as in the drawing, and the fingerprint."""
    words = (("title", display.heading), ("desc", display.description))
    nodes = "".join(f'<{tag} id="{prefix}-{tag}">{escape(text)}</{tag}>' for tag, text in words)
    digest = hashlib.sha256("".join(_pieces(display)).encode()).hexdigest()
    named = f'aria-labelledby="{prefix}-title {prefix}-desc"'
    return f'<svg class="picture" role="img" {named}>{nodes}<text>{digest}</text></svg>'


def _pieces(value: Any) -> Iterator[str]:
    """Every number and word within a value, in order."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, str | int | float | np.generic):
        yield f"{value!s};"
    elif isinstance(value, dict):
        for key, item in value.items():
            yield f"{key}="
            yield from _pieces(item)
    elif isinstance(value, list | tuple):
        yield f"{len(value)}:"
        for item in value:
            yield from _pieces(item)
    else:
        own = {k: v for k, v in vars(value).items() if k not in ("ax_", "figure_")}
        yield type(value).__name__
        yield from _pieces(own)
