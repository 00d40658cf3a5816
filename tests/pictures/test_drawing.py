"""Many plots at once: the same bytes whoever draws them, and nothing is lost with a process."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from separatrix.pictures import PerceptronTraceDisplay, svg

PLOTS = [(PerceptronTraceDisplay([5, i, 0], n_rows=10), f"p-{i}") for i in range(7)]

OTHERS: set[str] = set()
forking = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")


@pytest.fixture(scope="module")
def expected() -> list[str]:
    return [plot.to_svg(prefix) for plot, prefix in PLOTS]


def children() -> set[str]:
    """Processes that this one has started and not waited for."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            if stat.read_text().rpartition(")")[2].split()[1] == str(os.getpid()):
                found.add(stat.parent.name)
    return found


@pytest.fixture(autouse=True)
def _others() -> None:
    """Processes of other tests, a browser for example, are none of these."""
    OTHERS.clear()
    OTHERS.update(children())


def no_child() -> bool:
    """Every process has ended and was waited for."""
    return children() <= OTHERS


@pytest.mark.parametrize("processors", [1, 2, 8])
@forking
def test_the_number_of_processes_changes_no_byte(monkeypatch, expected, processors) -> None:
    monkeypatch.setattr(svg, "_processors", lambda: processors)
    assert svg.to_svgs(PLOTS) == expected
    assert svg.to_svgs(PLOTS[:1]) == expected[:1]
    assert svg.to_svgs([]) == []
    assert no_child()


@forking
def test_other_processes_are_at_work(monkeypatch) -> None:
    class Signed(PerceptronTraceDisplay):
        def to_svg(self, prefix: str = "picture") -> str:
            return str(os.getpid())

    monkeypatch.setattr(svg, "_processors", lambda: 2)
    found = svg.to_svgs([(Signed([1, 0], n_rows=2), str(i)) for i in range(6)])
    assert found[::2] == [str(os.getpid())] * 3
    assert len(set(found[1::2]) - {str(os.getpid())}) == 1


@forking
@pytest.mark.parametrize("end", ["exit", "signal", "error", "silence"])
def test_what_a_process_does_not_deliver_is_draw_all_here(monkeypatch, expected, end) -> None:
    here = os.getpid()
    drawn = svg._draw_all

    def failing(plots):
        if os.getpid() == here:
            return drawn(plots)
        if end == "exit":
            os._exit(3)
        if end == "signal":
            os.kill(os.getpid(), signal.SIGKILL)
        if end == "silence":
            signal.pause()
        raise RuntimeError(end)

    monkeypatch.setattr(svg, "_processors", lambda: 2)
    monkeypatch.setattr(svg, "_draw_all", failing)
    monkeypatch.setattr(svg, "PATIENCE", 0.3)
    assert svg.to_svgs(PLOTS) == expected
    assert no_child()


@forking
def test_without_another_process_all_is_draw_all_here(monkeypatch, expected) -> None:
    def refused() -> int:
        raise BlockingIOError

    monkeypatch.setattr(svg, "_processors", lambda: 2)
    monkeypatch.setattr(os, "fork", refused)
    assert svg.to_svgs(PLOTS) == expected


@forking
def test_an_error_here_ends_the_other_processes(monkeypatch) -> None:
    class Broken(PerceptronTraceDisplay):
        def to_svg(self, prefix: str = "picture") -> str:
            raise KeyboardInterrupt

    monkeypatch.setattr(svg, "_processors", lambda: 2)
    with pytest.raises(KeyboardInterrupt):
        svg.to_svgs([(Broken([1, 0], n_rows=2), "b"), *PLOTS])
    assert no_child()
