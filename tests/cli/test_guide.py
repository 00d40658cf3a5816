"""The commands that the guide prints run as printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "command.md"


@pytest.mark.usefixtures("plain_page")
def test_every_command_of_the_guide_runs(command, here) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", "").splitlines()]
    assert len(lines) >= 6
    for line in lines:
        name, *words = shlex.split(line)
        assert name == "separatrix"
        ran = command(*words)
        assert ran.code == 0, (line, ran.err)
    answers = (here / "answers.csv").read_text().splitlines()
    assert answers[0].startswith("row,predicted,probability cultivar A")
    assert any(",reject," in line for line in answers)


def test_every_option_of_fit_is_in_the_guide(command) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    options = set(re.findall(r"^  (--[a-z-]+)", command("fit", "--help").out, re.MULTILINE))
    assert {"--costs", "--reject", "--metric"} <= options
    assert not [option for option in options - {"--help"} if f"`{option}" not in text]
