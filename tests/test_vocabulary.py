"""One word for one thing: retired identifiers do not come back.

The field's words are in ``docs/architecture.md`` and ``docs/glossary.md``.
"""

from __future__ import annotations

import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: Retired word → what to write instead.
RETIRED = {
    "footing": "Standardizer", "footed": "standardized",
    "doubt": "warn, or reject", "doubts": "warnings, or rejects", "doubtful": "uncertain",
    "told": "metadata", "said": "messages", "story": "study", "telling": "summary",
    "kept": "stored, or an index by its name", "held": "test, or out_of_fold",
    "ground": "rows, or design", "bench": "folds", "entrants": "candidates", "wishes": "options",
    "ask": "cross_validate", "asked": "queries",
    "restless": "working_set", "settle": "solve_active_set", "heard": "unshrunk",
    "machine": "binary SVM", "machines": "binary SVMs",
    "remembering": "instance-based", "opinions": "one-hot targets",
    "bells": "gaussian", "panels": "buffers", "corner": "vertex", "slide": "ratio_test",
    "shed": "drop", "worth": "utility", "shares": "proportions, or priors",
    "exchange": "swap", "dress": "style_axes", "meeting": "HullIntersection", "team": "ensemble",
    "price": "C, cost, or reject_cost", "prices": "costs",
    "tube": "epsilon_insensitive", "walk": "path, or epochs",
}  # fmt: skip
#: File → words of others that it must use: the field of a foreign class, a column of a table.
FOREIGN = {
    "tests/contracts.py": {"kept"},
    "tests/test_architecture.py": {"walk"},
    "src/separatrix/samples/houses.py": {"price"},
    "src/separatrix/geometry/class_scores.py": {"shares_memory"},
}
FILES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")])


def parts_of(identifier: str) -> list[str]:
    """``NearestHullPoints``, ``nearest_hull_points`` → nearest, hull, points."""
    return [p.lower() for p in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", identifier)]


@cache
def is_retired(name: str) -> bool:
    return bool(RETIRED.keys() & set(parts_of(name.replace("held_out", ""))))


def retired_in(text: str, foreign: frozenset[str] | set[str] = frozenset()) -> set[str]:
    found = {name for name in set(re.findall(r"\w+", text)) - foreign if is_retired(name)}
    return found & identifiers(text) if found else found  # or words of texts and comments


def identifiers(text: str) -> set[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {token.string for token in tokens if token.type == tokenize.NAME}


@pytest.mark.parametrize("folder", ["src", "tests"])
def test_retired_identifiers_do_not_come_back(folder: str) -> None:
    found = {
        f"{path.relative_to(ROOT)}: {name} → {RETIRED[word]}"
        for path in FILES
        if path.is_relative_to(ROOT / folder) and path != Path(__file__)
        for name in retired_in(
            path.read_text(encoding="utf-8"),
            FOREIGN.get(path.relative_to(ROOT).as_posix(), frozenset()),
        )
        for word in parts_of(name)
        if word in RETIRED
    }
    assert not found, "\n".join(sorted(found))


def test_a_retired_word_is_found_inside_an_identifier() -> None:
    assert retired_in("rows_kept = StandardFooting()\nbookkeeping = 1") == {
        "rows_kept",
        "StandardFooting",
    }
