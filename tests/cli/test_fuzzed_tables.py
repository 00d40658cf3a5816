"""Tables as nobody would write them: studied, or refused in a sentence; never a defect."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings

from separatrix.cli.outcome import run
from tests.cli.tables import FuzzedTable, tables

#: More examples are tried by hand: SEPARATRIX_FUZZ=300.
EXAMPLES = int(os.environ.get("SEPARATRIX_FUZZ", "3"))
TRIED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)

#: Control characters, which no picture can hold; mathtext, HTML and breaks in names.
HOSTILE_NAMES = FuzzedTable(
    ("a\x16\x02", "$\\frac{$<b>&", "line\nbreak"),
    (tuple("123456789712"), tuple("101010110010"), tuple("314159265358")),
    "line\nbreak",
)
#: Classes that columns separate: no coefficient has a finite estimate.
SEPARATED = FuzzedTable(("a", "y"), (tuple("0123" * 4), tuple("ppqq" * 4)), "y")


def attempt(words: list[str], table: FuzzedTable, folder: Path, capsys: object) -> None:
    path = folder / "t.csv"
    path.write_text(table.text, encoding="utf-8", newline="")
    code = run([*words, str(path), "--out", str(folder / "results")])
    err = capsys.readouterr().err  # type: ignore[attr-defined]
    assert code in (0, 2), err
    assert code == 0 or err.strip().splitlines()[-1].startswith("error: "), err


@TRIED
@given(table=tables())
@example(table=HOSTILE_NAMES)
@example(table=SEPARATED)
def test_fit(table: FuzzedTable, tmp_path_factory: pytest.TempPathFactory, capsys) -> None:
    words = ["fit", "--models", "linear,logistic", "--effort", "quick", f"--target={table.target}"]
    attempt(words, table, tmp_path_factory.mktemp("fit"), capsys)


@TRIED
@given(table=tables())
@example(table=HOSTILE_NAMES)
def test_cluster(table: FuzzedTable, tmp_path_factory: pytest.TempPathFactory, capsys) -> None:
    words = ["cluster", "-k", "2"]
    attempt(words, table, tmp_path_factory.mktemp("cluster"), capsys)
