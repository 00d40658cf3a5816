"""Parameters of Python as options of the command line.

Messages and errors of the library speak of parameters: ``task='regression'``, or `` `seed` ``. Here
alone they become ``--task regression`` and ``--seed``.
"""

from __future__ import annotations

import ast
import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from separatrix.study.result import Study

#: The option of each parameter.
FLAGS = {
    "target": "--target",
    "task": "--task",
    "models": "--models",
    "metric": "--metric",
    "costs": "--costs",
    "reject": "--reject",
    "seed": "--seed",
    "test": "--test",
    "folds": "--folds",
    "weight": "--weight",
    "kinds": "--kind",
    "missing": "--missing",
    "unseen": "--unseen",
    "method": "--method",
    "k": "-k",
    "standardize": "--no-standardize",
}

_NAMES = "|".join(FLAGS)
_LITERAL = r"""\{[^{}]*\}|\[[^\[\]]*\]|'[^']*'|"[^"]*"|…|[\w.]*\w"""
_CALL = re.compile(rf"scan\(…, ((?:{_NAMES})=[^()]*)\)")
_MENTION = re.compile(
    rf"`(?P<bare>{_NAMES})`|(?P<tick>`?)\b(?P<name>{_NAMES})=(?P<value>{_LITERAL})(?P=tick)"
)


def with_flags(text: str) -> str:
    """A message written for Python, in the options of the command line."""
    return _MENTION.sub(_option, _CALL.sub(r"\1", text))


def _option(found: re.Match[str]) -> str:
    if found["bare"]:
        return FLAGS[found["bare"]]
    flag, text = FLAGS[found["name"]], found["value"]
    if text in ("…", "{…}"):
        return f"{flag} {'COLUMN=KIND' if flag == '--kind' else 'COLUMN'}"
    try:
        value = ast.literal_eval(text.replace("…", "'COLUMN'"))
    except (SyntaxError, ValueError):
        return found[0]
    if isinstance(value, bool):
        return flag
    if isinstance(value, dict):
        pairs = (f"{column}={kind}" for column, kind in value.items())
        return " ".join(f"{flag} {shlex.quote(pair)}" for pair in pairs)
    if isinstance(value, list | tuple):
        value = ",".join(str(item) for item in value)
    return f"{flag} {shlex.quote(str(value))}"


def study_with_flags(study: Study) -> Study:
    """The study with its messages in the options of the command line."""
    return replace(study, messages=tuple(with_flags(text) for text in study.messages))
