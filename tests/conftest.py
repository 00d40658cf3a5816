"""What all tests share: how they are run."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

# A pause of a busy computer is not a failure.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

#: The folder in which test processes that share the work claim modules; unset: one does all.
QUEUE = os.environ.get("SEPARATRIX_TEST_QUEUE", "")
#: Tests of a module that are claimed at once.
PIECE = 200


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers of a test, whatever ran before it."""
    return np.random.default_rng(0)


def pytest_collection_finish(session: Any) -> None:
    """Garbage collection leaves out what is there before the first test.

    Thousands of tests and the imported libraries are some millions of objects; to traverse them
    again and again takes a tenth of the time.
    """
    del session
    gc.collect()
    gc.freeze()


def claimed(items: list[Any]) -> Iterator[Any]:
    """The tests of the modules that no other process has claimed.

    Small modules come first, since their tests take longest; pieces of the large ones, of short
    tests, are left for the end, where they even out the time.
    """
    modules = [list(group) for _, group in groupby(items, lambda item: item.path)]
    pieces = [m[i : i + PIECE] for m in modules for i in range(0, len(m), PIECE)]
    for number, piece in sorted(enumerate(pieces), key=lambda pair: len(pair[1])):
        try:
            (Path(QUEUE) / str(number)).touch(exist_ok=False)
        except FileExistsError:
            continue
        yield from piece


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: Any) -> bool | None:
    """Share the modules with other processes that run the same tests.

    A module is run by one process, so that its fixtures are made once; nothing is sent between
    processes, which for thousands of short tests takes longer than the tests.
    """
    if not QUEUE or session.testsfailed or session.config.option.collectonly:
        return None
    mine = claimed(session.items)
    item = next(mine, None)
    while item is not None:
        following = next(mine, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        item = following
    return True
