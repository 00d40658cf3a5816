"""Public names are imported lazily, and typed for editors and type checkers."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mypy import api

import separatrix as sx

SOURCE = Path(sx.__file__).parent
SAMPLE = """
import separatrix as sx

reveal_type(sx.Lasso(alpha=1.0))
reveal_type(sx.scan("table.csv"))
reveal_type(sx.SVC(C=2.0))
reveal_type(sx.KMeans(3))
sx.Lasso(lambda_=1.0)
sx.LassoRegression
"""


def test_the_stub_lists_the_public_names_with_their_modules() -> None:
    stub = ast.parse((SOURCE / "__init__.pyi").read_text("utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    listed = {alias.asname: node.module for node in imports for alias in node.names}
    assert listed == sx.HOMES


@pytest.mark.parametrize("name", sorted(sx.HOMES))
def test_every_public_name_exists(name: str) -> None:
    assert getattr(sx, name).__name__ == name


def test_import_loads_no_numpy() -> None:
    code = (
        "import sys, separatrix; print({'numpy', 'scipy', 'sklearn', 'pyarrow'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"


def test_types_of_public_names(tmp_path, monkeypatch) -> None:
    (tmp_path / "sample.py").write_text(SAMPLE)
    monkeypatch.setenv("MYPYPATH", str(SOURCE.parent))
    config = Path(__file__).parents[1] / "pyproject.toml"
    options = ["--strict", "--follow-imports=silent", "--no-incremental", "--cache-dir=/dev/null"]
    out, err, code = api.run([*options, f"--config-file={config}", str(tmp_path / "sample.py")])
    assert code == 1, out + err
    revealed = re.findall(r'Revealed type is "separatrix\.[\w.]*?(\w+)"', out)
    assert revealed == ["Lasso", "Rows", "SVC", "KMeans"]
    errors = re.findall(r"sample\.py:(\d+): error: .*\[([\w-]+)\]", out)
    assert errors == [("8", "call-arg"), ("9", "attr-defined")]
