"""The layout holds: short functions, tests beside their subjects, documents that name what is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import separatrix as sx

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "separatrix"
MODULES = sorted(SOURCE.rglob("*.py"))
#: Folders of the tree that need no tests of their own: what they hold is tested through its users.
THROUGH_USERS = {"samples"}


def functions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions anywhere among statements: no expression holds one."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
        if not isinstance(child, ast.expr):
            yield from functions(child)


def test_no_function_is_longer_than_60_lines_without_its_docstring() -> None:
    long = {}
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        if text.count("\n") <= 60:
            continue
        for node in functions(ast.parse(text)):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            if body and node.end_lineno - body[0].lineno + 1 > 60:
                long[f"{path.relative_to(SOURCE)}:{node.lineno}"] = node.name
    assert not long


def test_class_names_are_unique_within_the_package() -> None:
    homes: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert not {name: places for name, places in homes.items() if len(places) > 1}


def test_names_of_a_module_have_one_value() -> None:
    """A constant that a merged module sets twice has the later value in both of its parts."""
    twice = {}
    for path in MODULES:
        names = []
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else ()
            names += [
                part.id for t in targets for part in ast.walk(t) if isinstance(part, ast.Name)
            ]
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.append(node.name)
        if repeated := {name for name in names if names.count(name) > 1 and name != "_"}:
            twice[str(path.relative_to(SOURCE))] = repeated
    assert not twice


#: Classes of ours above a public estimator, itself included.
DEEPEST = 5
#: Those that may have more, and why.
DEEPER = {
    "neighbors": (8, "two searches of scikit-learn's mixins over points that clusterers share"),
    "logistic": (7, "probabilities and scores are those of every linear classifier"),
    "linear": (6, "a path is a model of moments, which is a linear model"),
    "kernel_machines": (6, "probabilities of scores are those of additive models too"),
    "cluster": (6, "iterations, metrics and kernels are common to several clusterers"),
}


def test_estimators_are_made_of_few_classes() -> None:
    deep = {}
    for name in sx.__all__:
        found = getattr(sx, name)
        if not isinstance(found, type) or not issubclass(found, BaseEstimator):
            continue
        own = [c.__name__ for c in found.__mro__ if c.__module__.startswith("separatrix.")]
        limit = DEEPER.get(found.__module__.split(".")[1], (DEEPEST, ""))[0]
        if len(own) > limit:
            deep[name] = own
    assert not deep


def test_every_folder_has_its_tests() -> None:
    folders = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    tested = {path.name for path in (ROOT / "tests").iterdir() if list(path.glob("test_*.py"))}
    assert folders - tested - THROUGH_USERS == set()


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_the_documents_name_files_that_exist(page: str) -> None:
    named = re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?)`", (ROOT / page).read_text("utf-8"))
    named = [name.removeprefix("src/separatrix/") for name in named]
    assert named
    absent = [n for n in named if not (SOURCE / n).exists() and not (ROOT / n).exists()]
    assert not absent


def test_what_to_change_where_has_thirty_rows_at_most() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    table = page.partition("| to change … | open |")[2].partition("\n\n")[0]
    assert 10 < table.count("\n|") - 1 <= 30
