"""What all tests share: how they are run."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pytest

#: Processes that share the tests.
PROCESSES = int(os.environ.get("SEPARATRIX_TEST_PROCESSES", "1"))
#: Tests of a module that are claimed at once.
PIECE = 200
#: Bytes of the number of a piece.
WIDTH = 2


def pytest_collection_finish(session: Any) -> None:
    """Garbage collection leaves out what is there before the first test.

    Thousands of tests and the imported libraries are some millions of objects; to traverse them
    again and again takes a tenth of the time, and would copy them for every process.
    """
    del session
    gc.collect()
    gc.freeze()


def queue(count: int) -> int:
    """A pipe out of which processes read the numbers 0, …, count − 1, each of them once."""
    source, sink = os.pipe()
    os.write(sink, b"".join(i.to_bytes(WIDTH, "big") for i in range(count)))
    os.close(sink)
    return source


def claimed(pieces: list[list[Any]], source: int) -> Iterator[Any]:
    """The tests of the pieces that no other process has claimed."""
    while number := os.read(source, WIDTH):
        yield from pieces[int.from_bytes(number, "big")]


def in_pieces(items: list[Any]) -> list[list[Any]]:
    """Tests by module, so that its fixtures are made once; large modules are cut.

    Small modules come first, since their tests take longest; pieces of the large ones, of short
    tests, are left for the end, where they even out the time.
    """
    modules = [list(group) for _, group in groupby(items, lambda item: item.path)]
    return sorted((m[i : i + PIECE] for m in modules for i in range(0, len(m), PIECE)), key=len)


def forked(config: Any) -> int:
    """Another process that knows all tests: its number, or 0 in that process itself."""
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if not process:  # what tests print goes to a file, which would be that of both
        capture = config.pluginmanager.getplugin("capturemanager")
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()
        config.add_cleanup(lambda: leave(config.pluginmanager.getplugin("session")))
    return process


def leave(session: Any) -> None:
    """End a forked process without destructors of C++: some wait for threads of the first one."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(session.exitstatus))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: Any) -> bool | None:
    """Share the tests among processes, which are forked when all tests are collected.

    To import and to collect takes as long as thousands of tests, so that it is done once. Nothing
    is sent between processes but numbers of pieces; each prints what failed in it, and the first
    waits for the others and fails with them.
    """
    if PROCESSES == 1 or session.testsfailed or session.config.option.collectonly:
        return None
    pieces = in_pieces(session.items)
    source = queue(len(pieces))
    others: list[int] = []
    while len(others) < PROCESSES - 1:
        process = forked(session.config)
        if not process:
            others.clear()
            break
        others.append(process)
    run(session, claimed(pieces, source))
    session.testsfailed += sum(os.waitpid(process, 0)[1] != 0 for process in others)
    return True


def run(session: Any, tests: Iterator[Any]) -> None:
    """Run tests one after another, each with the knowledge of the next."""
    item = next(tests, None)
    while item is not None:
        following = next(tests, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        item = following
