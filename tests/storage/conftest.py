"""A fitted model and its file."""

from __future__ import annotations

from pathlib import Path

import pytest

import separatrix as sx
from separatrix.storage import save
from tests.storage.files import X, Y


@pytest.fixture
def model() -> sx.LinearRegression:
    return sx.LinearRegression().fit(X, Y)


@pytest.fixture
def file(model, tmp_path) -> Path:
    save(model, tmp_path / "model.sx")
    return tmp_path / "model.sx"
