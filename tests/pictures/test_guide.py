"""The guide to the pictures runs as it is printed."""

import re
from pathlib import Path

import separatrix.pictures

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "pictures.md"


def test_code_of_the_guide_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S):
        exec(code, names)
    assert (tmp_path / "two.svg").stat().st_size > 10_000
    assert (tmp_path / "coefficients.png").stat().st_size > 10_000
    assert "under its hull" in capsys.readouterr().out


def test_every_display_is_in_the_guide():
    text = GUIDE.read_text(encoding="utf-8")
    shown = set(separatrix.pictures.__all__) - {"Display"}
    assert shown == set(re.findall(r"^\| `(\w+)`", text, re.M))
