"""A fresh directory and a way to run the command in it, without starting a new process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import separatrix
from separatrix.cli.outcome import run
from tests.sketches import sketches


@dataclass(frozen=True)
class Ran:
    """What a command left: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.out)


def default_dispositions() -> None:
    """SIGINT raises KeyboardInterrupt, SIGTERM and SIGHUP end the process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """A parent that ignores signals hands that down: every test starts from the default."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    default_dispositions()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def same_package(monkeypatch) -> None:
    """Child processes import the package under test, whatever directory they start in."""
    monkeypatch.setenv("PYTHONPATH", str(Path(separatrix.__file__).parents[1]))


def interrupted(words: list[str], *, at: str, within: int = 30) -> None:
    """Ctrl-C once the command says ``at``: it stops soon, says so, and shows no traceback."""
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "separatrix", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=default_dispositions,
    ) as child:
        for line in child.stderr:
            if at in line:
                break
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        rest = child.stderr.read()
        assert child.wait(within) == 130
    assert "Interrupted" in rest
    assert "Traceback" not in rest


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(here, capsys) -> Callable[..., Ran]:
    def call(*words: object) -> Ran:
        capsys.readouterr()
        code = run([str(word) for word in words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def process(here) -> Callable[..., Ran]:
    """The command as a process of its own, as a shell would start it."""

    def call(*words: object, **options: Any) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "separatrix", *map(str, words)],
            capture_output="stdout" not in options,
            stderr=subprocess.PIPE if "stdout" in options else None,
            text=True,
            timeout=120,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            **options,
        )
        return Ran(done.returncode, done.stdout or "", done.stderr)

    return call


@pytest.fixture
def plain_page(monkeypatch) -> None:
    """A page without pictures, for tests that look at other things; drawing takes the longest."""
    import separatrix.report
    from separatrix.storage.files import write_text

    monkeypatch.setattr(separatrix.report, "write", lambda _, page: write_text(page, "a page"))


@pytest.fixture
def sketched() -> Iterator[None]:
    """A page with every part but drawings, for tests of whole pages."""
    with sketches():
        yield


def lines_of(n: int, seed: int = 0) -> list[str]:
    """Rows of a table a, b, y in which y depends on a."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n), rng.normal(size=n)
    y = 3 * a + 0.3 * rng.normal(size=n)
    return [f"{i:.6f},{j:.6f},{k:.6f}" for i, j, k in zip(a, b, y, strict=True)]


@pytest.fixture
def table(here) -> Path:
    path = here / "table.csv"
    path.write_text("\n".join(["a,b,y", *lines_of(80)]) + "\n")
    return path
