"""``separatrix compile``: every model fits its small tables, and what is compiled is stored."""

import json

import pytest
from numba.core.caching import CompileResultCacheImpl

from separatrix import compilation
from separatrix.catalogue import DECLARATIONS
from separatrix.cli import compile as command
from separatrix.cli import first_fits
from separatrix.cli.outcome import run
from separatrix.compilation import compiled


@pytest.mark.parametrize("family", first_fits.families())
def test_every_model_of_a_family_takes_a_plain_table(family, monkeypatch):
    plain = next(first_fits.tables())
    monkeypatch.setattr(first_fits, "tables", lambda: iter([plain]))
    assert first_fits.compile_family(family).family == family


def test_families_hold_every_model():
    assert {declared.family for declared in DECLARATIONS.values()} <= set(first_fits.families())
    assert len(set(first_fits.families())) == len(first_fits.families())


def test_the_command_prints_what_it_compiled(monkeypatch, capsys):
    done = [first_fits.Compiled("geometry", 3, 1.5, True)]
    monkeypatch.setattr(command, "_in_processes", lambda quiet: done)
    assert run(["compile", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["families"]["geometry"]["loops"] == 3


def test_without_a_writable_folder_loops_run_and_the_cost_is_announced(monkeypatch):
    monkeypatch.setattr(CompileResultCacheImpl, "_locator_classes", [])
    monkeypatch.setattr(compilation, "watch", compilation.CompilationWatch())

    @compiled
    def double(x):
        return 2.0 * x

    assert double(1.5) == 3.0
    assert not compilation.watch.stored


@pytest.mark.parametrize(("stored", "line"), [(True, "once after"), (False, "every process")])
def test_a_line_says_once_that_compilation_takes_long(monkeypatch, stored, line):
    monkeypatch.setattr(compilation, "PATIENCE", 0.0)
    watch, lines = compilation.CompilationWatch(), []
    watch.stored, watch.announce = stored, lines.append
    for _ in range(2):
        watch.on_start(None)
        if watch._timer is not None:
            watch._timer.join(5.0)
        watch.on_end(None)
    assert len(lines) == 1
    assert line in lines[0]
