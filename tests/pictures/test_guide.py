"""The guide to the pictures runs as it is printed."""

import re
from pathlib import Path
from xml.etree import ElementTree

import separatrix.pictures

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = DOCS / "guide" / "pictures.md"


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


def test_the_page_of_pictures_shows_every_display_and_all_its_files():
    text = (DOCS / "pictures.md").read_text(encoding="utf-8")
    shown = set(separatrix.pictures.__all__) - {"Display"}
    assert shown == set(re.findall(r"^`(\w+Display)`: ", text, re.M))
    named = {DOCS / path for path in re.findall(r"\]\((images/[^)]+)\)", text)}
    files = set((DOCS / "images" / "gallery").iterdir())
    assert named == files
    assert sum(file.stat().st_size for file in files) < 1_500_000
    for file in files:
        root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
        assert "prefers-color-scheme: dark" in "".join(root.itertext())
    assert (DOCS / "images" / "report.png").stat().st_size < 400_000
