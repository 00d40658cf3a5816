"""``separatrix verify`` on files: the training part of a table, tampered files and tables."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import separatrix as sx
from separatrix.cli.outcome import run
from separatrix.samples import sample
from separatrix.storage import load, load_study, save

HOUSES = sample("houses").path


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that a study chose: levels, missing values, a test part."""
    rows = sx.scan(HOUSES, target="price")
    study = sx.run_study(rows, models=["lasso"], goal="accuracy", reference=False)
    path = tmp_path_factory.mktemp("houses") / "model.sx"
    save(study.model, path, study=study)
    return path


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = run(["verify", *arguments])
    return code, capsys.readouterr().out


def test_the_training_part_is_found(fitted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = outcome(capsys, str(fitted), "sample:houses")
    assert code == 0
    assert text.startswith("proved: LassoCV, 480 rows")
    assert "digest is the recorded one" in text
    code, text = outcome(capsys, str(fitted.parent), str(HOUSES), "--json")
    found = json.loads(text)
    assert (code, found["verdict"], found["rows"]) == (0, "proved", 480)


def test_order_of_rows_does_not_matter(fitted: Path, tmp_path: Path) -> None:
    lines = HOUSES.read_text().splitlines()
    other = tmp_path / "other.csv"
    other.write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")
    assert sx.verify(fitted, other).verdict == "proved"


def _edited(tmp_path: Path, change: Any) -> str:
    lines = HOUSES.read_text().splitlines()
    change(lines)
    path = tmp_path / "edited.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def _digit(lines: list[str]) -> None:
    area, rest = lines[7].split(",", 1)
    lines[7] = f"{float(area) + 0.1:.1f},{rest}"


CHANGES = {
    "deleted": lambda lines: lines.pop(5),
    "repeated": lambda lines: lines.append(lines[9]),
    "digit": _digit,
    "swapped": lambda lines: lines.__setitem__(1, lines[1].replace("hill", "river")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_table_is_refuted(
    fitted: Path, tmp_path: Path, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = outcome(capsys, str(fitted), _edited(tmp_path, CHANGES[change]))
    assert code == 1
    assert text.startswith("refuted")


def test_tampered_models_are_refuted(fitted: Path, tmp_path: Path) -> None:
    model, study = load(fitted), load_study(fitted)
    at = int(np.abs(model.coef_).argmax())
    model.coef_[at] *= 1.0 + 1e-6
    save(model, tmp_path / "a.sx", study=study)
    assert sx.verify(tmp_path / "a.sx", HOUSES).verdict == "refuted"


def test_a_changed_bit_is_refuted(fitted: Path, tmp_path: Path) -> None:
    content = bytearray(fitted.read_bytes())
    content[-3] ^= 1
    (tmp_path / "b.sx").write_bytes(content)
    found = sx.verify(tmp_path / "b.sx", HOUSES)
    assert found.verdict == "refuted"
    assert "checksum" in found.claims[0].sentence


def test_usage(fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(capsys, str(fitted), "sample:wine")[0] == 2
    assert outcome(capsys, str(tmp_path / "none.sx"), "sample:houses")[0] == 2
    (tmp_path / "cut.sx").write_bytes(fitted.read_bytes()[:100])
    assert outcome(capsys, str(tmp_path / "cut.sx"), "sample:houses")[0] == 2
    (tmp_path / "text.sx").write_bytes(struct.pack("<Q", 2**60) + b"{}")
    assert outcome(capsys, str(tmp_path / "text.sx"), "sample:houses")[0] == 2


def test_models_of_arrays_and_tables(tmp_path: Path) -> None:
    x = np.arange(12.0).reshape(6, 2) ** 1.5
    y = np.array([1.0, 0.0, 2.0, 5.0, 3.0, 8.0])
    save(sx.Ridge().fit(x, y), tmp_path / "m.sx")
    table = tmp_path / "t.csv"
    rows = [f"{a!r},{b!r},{c!r}" for (a, b), c in zip(x.tolist(), y.tolist(), strict=True)]
    table.write_text("\n".join(["p,q,target", *rows]) + "\n")
    assert sx.verify(tmp_path / "m.sx", table, "target").verdict == "proved"
    table.write_text("\n".join(["p,q,target", *rows[:-1]]) + "\n")
    assert sx.verify(tmp_path / "m.sx", table, "target").verdict == "refuted"
