"""Views of the page: one folder each, with a module ``questions`` that answers what it asks.

    QUESTIONS = {"fit": fit}        fit(session, state) → what JSON can say

A question is a pure function of the session and of the state that the address of the view holds.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import separatrix
from separatrix.exploration.state import ViewState

if TYPE_CHECKING:
    from separatrix.exploration.session import Session

Question = Callable[["Session", ViewState], Mapping[str, Any]]

#: Views in the order of the page.
VIEWS = ("boundary", "line", "decide", "groups", "descend", "model")

_loading = Lock()


@cache
def _load() -> None:
    for view in VIEWS:
        questions_of(view)
    for name in separatrix.HOMES:
        getattr(separatrix, name)


def load_views() -> None:
    """Import what any question may need, once, in one thread, while all others wait.

    Modules of SciPy and scikit-learn import one another: threads that begin at different ones wait
    for each other, and Python then hands out modules that are not complete.
    """
    with _loading:
        _load()


def questions_of(view: str) -> Mapping[str, Question]:
    """The questions of a view; none where there is no such view."""
    if view not in VIEWS:
        return {}
    module = importlib.import_module(f"separatrix.exploration.views.{view}")
    questions: dict[str, Question] = module.QUESTIONS
    return questions
