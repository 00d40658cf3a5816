"""Looking at a fitted estimator never fails: an attribute that does not apply is absent."""

from __future__ import annotations

import pytest

from tests.laws.data import fitted
from tests.registry import CLUSTERERS, HIERARCHIES, REGISTRY

NAMES = [row.name for row in (*REGISTRY, *CLUSTERERS, *HIERARCHIES)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_fitted_estimator_can_be_looked_at(name: str) -> None:
    model = fitted(name)
    for attribute in dir(model):
        hasattr(model, attribute)  # any error but AttributeError comes through
    assert set(vars(model)) <= set(dir(model))
    assert type(model).__name__ in repr(model)
    assert type(model).__name__ in model._repr_html_()
    assert type(model).__name__ in model._repr_mimebundle_()["text/plain"]


@pytest.mark.parametrize("name", NAMES)
def test_so_can_one_that_is_not_fitted(name: str) -> None:
    row = next(row for row in (*REGISTRY, *CLUSTERERS, *HIERARCHIES) if row.name == name)
    model = row.make()
    for attribute in dir(model):
        hasattr(model, attribute)
    assert type(model).__name__ in model._repr_html_()
