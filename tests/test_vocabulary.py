"""One word for one thing: retired identifiers and phrases do not come back.

The field's words are in ``docs/architecture.md`` and ``docs/glossary.md``. Identifiers are those of
Python and of the scripts of the pages; phrases are looked for in every text that people read.
"""

from __future__ import annotations

import ast
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
    "tests/laws/test_hostile_numbers.py": {"walk_tb"},
    "src/separatrix/samples/houses.py": {"price"},
    "src/separatrix/geometry/class_scores.py": {"shares_memory"},
}
#: Words that say nothing of what a variable of a page holds, beside those retired everywhere.
RETIRED_IN_PAGES = {"found": "what it is", "own": "whose", "held": "dragged"}
#: Words of pages that are not retired there: a question is asked of the server.
SAID_IN_PAGES = {"ask"}
PAGES = [p for p in sorted((ROOT / "src").rglob("*.js")) if not p.name.endswith(".min.js")]
#: Retired phrase → what scikit-learn's documentation would say.
PHRASES = {
    r"taken and unused|taken as scikit-learn does|it has no effect\.": "Ignored; accepted for …",
    r"(?<!there )\b(?:is|are) no (?:a|an|candidate|class|code|column|count|covariance|date|distance"
    r"|error|feature|fraction|frame|function|level|list|mapping|model|number|numbers|object|option"
    r"|partition|penalty|probability|query|table|tree)\b(?! (?:is|are)\b)": "is not a …",
    r"ha(?:s|ve) no say": "does not influence",
    r"next to nothing": "almost zero, almost nothing",
    r"by intention": "deliberately",
    r"hold no promise": "are not valid",
    r"make this page again": "create this report again",
    r"interval of that": "confidence interval",
    r"worst of whose": "the worst of their …",
    r"either half": "each half",
    r"apart from the solver": "by code separate from the solver",
    r"where to go on": "next steps",
}
WRITTEN = sorted(
    path
    for folder, ends in (("src", "py js j2"), ("docs", "md py"), ("tests", "py"))
    for end in ends.split()
    for path in (ROOT / folder).rglob(f"*.{end}")
    if not {"_build", "gallery", "reference"} & set(path.parts) and path != Path(__file__)
)
FILES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")])


def parts_of(identifier: str) -> list[str]:
    """``NearestHullPoints``, ``nearest_hull_points`` → nearest, hull, points."""
    return [p.lower() for p in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", identifier)]


#: Terms of the field that hold such a word: identifiers may be made of them.
TERMS = re.compile("held_out|kernel_machines|recursive_feature_machine|RecursiveFeatureMachine")


@cache
def is_retired(name: str) -> bool:
    return bool(RETIRED.keys() & set(parts_of(TERMS.sub("", name))))


def retired_in(text: str, foreign: frozenset[str] | set[str] = frozenset()) -> set[str]:
    text = text.replace("ast.walk", "ast.children")  # a name of Python's own
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


def code_of(script: str) -> str:
    """JavaScript without its comments and plain strings."""
    script = re.sub(r"/\*.*?\*/|(?<![:\"])//[^\n]*", "", script, flags=re.DOTALL)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', script)


def test_retired_identifiers_do_not_come_back_to_pages() -> None:
    retired = (RETIRED.keys() - SAID_IN_PAGES) | RETIRED_IN_PAGES.keys()
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in PAGES
        for name in re.findall(r"[A-Za-z_]\w*", code_of(path.read_text(encoding="utf-8")))
        if retired & set(parts_of(name))
    }
    assert not found, "\n".join(sorted(found))


def test_retired_phrases_do_not_come_back() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0]} → {instead}"
        for path in WRITTEN
        for text in [path.read_text(encoding="utf-8")]
        for phrase, instead in PHRASES.items()
        for match in re.finditer(phrase, text, re.IGNORECASE)
    ]
    assert not found, "\n".join(found)


#: Methods that return another value of their kind, and callbacks: words of public classes.
PARTICIPLES = {
    "aligned", "closed", "compared", "compiled", "damaged", "expected", "fitted", "inferred",
    "mapped", "named", "normalized", "opened", "ordered", "paired", "planned", "projected",
    "scaled", "scored", "solved", "started", "unweighted", "weighted", "converted",
}  # fmt: skip


def test_functions_are_verbs() -> None:
    """``explain(study)``, not ``explained(study)``; properties may be what they are."""
    found = {
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        and re.fullmatch(r"_*[a-z]+(?<!e)ed", node.name)
        and not {"property", "cached_property"} & {ast.unparse(d) for d in node.decorator_list}
        and node.name.strip("_") not in PARTICIPLES | {"embed"}
    }
    assert not found, "\n".join(sorted(found))


def test_a_retired_word_is_found_inside_an_identifier() -> None:
    assert retired_in("rows_kept = StandardFooting()\nbookkeeping = 1") == {
        "rows_kept",
        "StandardFooting",
    }
