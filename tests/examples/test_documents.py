"""Every Python block that the documents print runs as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "tour.md",
    ROOT / "docs" / "how-it-works.md",
    ROOT / "docs" / "coming-from" / "scikit-learn.md",
    ROOT / "docs" / "coming-from" / "statsmodels.md",
    ROOT / "docs" / "coming-from" / "r.md",
    ROOT / "docs" / "coming-from" / "libsvm.md",
    ROOT / "docs" / "guide" / "explore.md",
    ROOT / "docs" / "guide" / "least-squares.md",
    ROOT / "docs" / "guide" / "decisions.md",
    ROOT / "docs" / "guide" / "conformal.md",
    ROOT / "docs" / "guide" / "classes.md",
    ROOT / "docs" / "guide" / "logistic.md",
    ROOT / "docs" / "guide" / "validation.md",
    ROOT / "docs" / "guide" / "command.md",
    ROOT / "docs" / "guide" / "clusters.md",
    ROOT / "docs" / "guide" / "kernels.md",
    ROOT / "docs" / "guide" / "neighbors.md",
    ROOT / "docs" / "guide" / "perceptrons.md",
    ROOT / "docs" / "guide" / "support-vectors.md",
    ROOT / "docs" / "guide" / "bayes.md",
    ROOT / "docs" / "guide" / "learning-theory.md",
    ROOT / "docs" / "guide" / "complexity.md",
    ROOT / "docs" / "guide" / "learning-curves.md",
    ROOT / "docs" / "guide" / "hypotheses.md",
    ROOT / "docs" / "guide" / "sites.md",
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path, monkeypatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)


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
