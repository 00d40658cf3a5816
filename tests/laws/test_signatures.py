"""A class that bears scikit-learn's name takes scikit-learn's whole signature, and its defaults."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from tests.drop_in.plugin import same_named

SAME = same_named()

#: Defaults that differ, each with its reason on the page for users of scikit-learn.
OTHER_DEFAULTS: dict[str, set[str]] = {"GaussianProcessRegressor": {"alpha"}}


def parameters(cls: type) -> list[inspect.Parameter]:
    found = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return [p for p in found if p.kind is not p.VAR_KEYWORD]


def equal(a: object, b: object) -> bool:
    return bool(a is b or (type(a) is type(b) and np.all(np.asarray(a == b))))


@pytest.mark.parametrize("name", sorted(SAME))
def test_signature(name: str) -> None:
    theirs, ours = (parameters(cls) for cls in SAME[name])
    positional = [p.name for p in theirs if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert [p.name for p in ours if p.kind is p.POSITIONAL_OR_KEYWORD] == positional
    assert [p.name for p in ours][: len(theirs)] == [p.name for p in theirs]
    taken = {p.name: p.default for p in ours}
    other = {p.name for p in theirs if not equal(p.default, taken[p.name])}
    assert other == OTHER_DEFAULTS.get(name, set())


@pytest.mark.parametrize("name", sorted(SAME))
def test_signature_of_fit(name: str) -> None:
    theirs, ours = SAME[name]
    public = [m for m in dir(theirs) if not m.startswith("_") and callable(getattr(theirs, m))]
    lacking = [m for m in public if not hasattr(ours, m)]
    assert not lacking, lacking
    for method in public:
        if method.startswith(("set_", "get_")):
            continue
        known = list(inspect.signature(getattr(theirs, method)).parameters)
        takes = inspect.signature(getattr(ours, method)).parameters
        if not any(p.kind is p.VAR_KEYWORD for p in takes.values()):
            assert list(takes)[: len(known)] == known, method
