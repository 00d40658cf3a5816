"""Every Python block that the documents print runs as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: Blocks marked ``py`` need a file or a server of the reader's, and are only shown.
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
MADE = ("_build", "reference", "gallery")
WRITTEN = [
    ROOT / "README.md",
    *(path for path in sorted(DOCS.rglob("*.md")) if path.relative_to(DOCS).parts[0] not in MADE),
]
PAGES = [page for page in WRITTEN if BLOCK.search(page.read_text(encoding="utf-8"))]
#: Columns of code that the site shows without a scroll bar, on a screen of 1280 pixels.
WIDEST = 76


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(compile(block, str(page), "exec"), names)
    plt.close("all")  # figures that a page leaves open are its own


def test_guides_have_code_that_runs() -> None:
    assert len([page for page in PAGES if page.parent.name == "guide"]) >= 22


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_code_is_not_cut_off(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^```(.*?)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    code = [block for kind, block in fences if not kind.startswith("{")]
    wide = [line for block in code for line in block.splitlines() if len(line) > WIDEST]
    assert not wide


def test_the_models_page_names_every_estimator() -> None:
    import separatrix as sx

    text = (ROOT / "docs" / "models.md").read_text()
    from sklearn.base import BaseEstimator

    estimators = [
        name
        for name in sx.__all__
        if isinstance(getattr(sx, name), type) and issubclass(getattr(sx, name), BaseEstimator)
    ]
    assert len(estimators) >= 14
    missing = [name for name in estimators if f"`{name}`" not in text]
    assert not missing


def test_the_reference_has_a_heading_for_every_folder_with_public_names(monkeypatch) -> None:
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "extensions"))
    import public_names

    named = public_names.names()
    for folder in named:
        assert re.fullmatch(r":doc:`.+ </[\w/-]+>`", public_names.guide_of(folder, DOCS))
    assert {name for group in named.values() for name in group} >= {"SVC", "AdditiveRegressor"}


def test_output_stands_below_the_code_that_makes_it(monkeypatch, tmp_path) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "extensions"))
    import executed

    page = executed.Page(tmp_path, "guide/some")
    text = (
        "Before.\n```python\nx = 20\nprint(x)\nx + 1\n```\nBetween.\n"
        "```py\nnever()\n```\n```python\n"
        "from separatrix.pictures import PerceptronTraceDisplay\n"
        "PerceptronTraceDisplay([5, 2, 0], n_rows=10)\n```\nAfter.\n"
    )
    shown = executed.execute(text, page)
    first, second = shown.split("Between.")
    assert re.findall(r"class: output\n\n(\d+)", first) == ["20", "21"]
    assert "never()" in second
    assert ":class: output" not in second
    assert (tmp_path / "outputs" / "guide-some-1.svg").read_text("utf-8").startswith("<svg")
    assert "{figure} /outputs/guide-some-1.svg" in second
    with pytest.raises(ZeroDivisionError):
        executed.execute("```python\n1 / 0\n```\n", page)
