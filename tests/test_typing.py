"""Public names are imported lazily, and typed for editors (see typed_sample.py)."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import separatrix as sx

SOURCE = Path(sx.__file__).parent


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
