"""Every example of the gallery is a question on a real table, in names that exist.

``make docs`` runs them all, with errors and our warnings as failures; here two run.
"""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import pytest

import separatrix
from separatrix import pictures

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
PAGES = sorted(EXAMPLES.rglob("*.py"))
#: Where real tables come from.
TABLES = re.compile(r"sklearn\.datasets import|statsmodels\.datasets import|samples import|sample:")


def imported(tree: ast.Module, module: str) -> set[str]:
    """Names that an example imports from a module."""
    return {
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == module
        for alias in node.names
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_an_example_is_a_question_on_a_real_table(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    tree = ast.parse(text)
    title, line, *words = (ast.get_docstring(tree) or "").splitlines()
    assert title.endswith("?")
    assert line == "=" * len(title)
    assert any(words)
    assert TABLES.search(text)
    assert "print(" in text
    used = set(re.findall(r"\bsx\.(\w+)", text))
    assert used | imported(tree, "separatrix") <= set(separatrix.__all__)
    assert imported(tree, "separatrix.pictures") <= set(pictures.__all__)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["lines/longley", "bayes/acid"])
def test_examples_run(name: str, capsys) -> None:
    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    assert "nan" not in capsys.readouterr().out.replace("NaN", "")


def test_every_section_has_a_heading_and_titles_differ() -> None:
    assert len(PAGES) >= 40
    folders = {page.parent for page in PAGES}
    assert all((folder / "GALLERY_HEADER.rst").exists() for folder in folders)
    titles = [page.read_text(encoding="utf-8").splitlines()[1] for page in PAGES]
    assert len(set(titles)) == len(titles)
