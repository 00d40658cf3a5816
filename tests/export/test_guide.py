"""The commands and the code of the guide run as printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from separatrix.cli.outcome import run

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "export.md"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_commands_of_the_guide_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("separatrix.report.write", lambda *_: None)  # pages are tested elsewhere
    for line in blocks("sh")[0].splitlines():
        assert run(shlex.split(line)[1:]) == 0, line
    assert {"wines.sql", "wines_model.py", "wines.json"} <= {one.name for one in tmp_path.iterdir()}
    assert 'FROM "cellar"."wines"' in capsys.readouterr().out


def test_the_code_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    space: dict[str, Any] = {}
    for block in blocks("python"):
        exec(block, space)
    assert "'predicted': True" in capsys.readouterr().out
