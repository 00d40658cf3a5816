"""A pytest plugin: while a test module is imported, scikit-learn's names lead to our classes.

scikit-learn's own code keeps its own classes: names are put back as soon as the module is
imported, so that only what the tests build is ours.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Generator
from types import ModuleType
from typing import Any

import pytest

from separatrix.catalogue import DECLARATIONS


def same_named() -> dict[str, tuple[type, type]]:
    """Name → (scikit-learn's class, ours), for every class that is declared to have a twin."""
    twins = [declared for declared in DECLARATIONS.values() if declared.twin]
    packages = {
        name: importlib.import_module(f"sklearn.{name}") for name in {d.twin for d in twins}
    }
    return {d.name: (getattr(packages[d.twin], d.name), d.load()) for d in twins}


class DropIn:
    """Puts our classes in scikit-learn's places and counts the tests that build one."""

    def __init__(self) -> None:
        self.built: set[str] = set()
        self.passed: Counter[str] = Counter()
        self.failed: dict[str, list[str]] = {}
        self.places: list[tuple[Any, str, type, type]] = []
        for name, (theirs, ours) in same_named().items():
            package = theirs.__module__.rsplit(".", 1)[0]
            for module in {package, theirs.__module__}:
                place = importlib.import_module(module)
                if getattr(place, name, None) is theirs:
                    self.places.append((place, name, theirs, ours))
            self._count(name, ours)

    def _count(self, name: str, ours: type) -> None:
        def create(cls: type, *_: object, **__: object) -> object:
            self.built.add(name)
            return object.__new__(cls)

        ours.__new__ = create  # type: ignore[assignment, method-assign]

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Import a test module with our classes under scikit-learn's names."""
        if not isinstance(collector, pytest.Module):
            return (yield)
        for place, name, _, ours in self.places:
            setattr(place, name, ours)
        try:
            report = yield
            if report.passed:
                self._lead_modules(collector)
            return report
        finally:
            for place, name, theirs, _ in self.places:
                setattr(place, name, theirs)

    def _lead_modules(self, collector: pytest.Module) -> None:
        """Tests that say ``svm.SVC`` find ours as well: the module they see is a view of it."""
        for name, value in list(vars(collector.obj).items()):
            ours = {n: mine for place, n, _, mine in self.places if place is value}
            if ours:
                view = ModuleType(value.__name__)
                vars(view).update(vars(value), **ours)
                setattr(collector.obj, name, view)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Note which of our classes the test built, and how it ended."""
        self.built.clear()
        try:
            yield
        except (pytest.skip.Exception, pytest.xfail.Exception):
            raise
        except BaseException as error:
            for name in self.built:
                self.failed.setdefault(name, []).append(f"{item.nodeid}: {_line(error)}")
            raise
        self.passed.update(self.built)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List, class by class, what failed."""
        write = terminalreporter.write_line
        for name in sorted(self.passed | self.failed.keys()):
            failed = self.failed.get(name, [])
            write(f"{name}: {self.passed[name]} passed, {len(failed)} failed")
            for line in failed:
                write(f"    {line}")


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:150]}"


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin."""
    config.pluginmanager.register(DropIn(), "drop-in")
