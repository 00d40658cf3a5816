"""Run scikit-learn's tests with our classes: ``python -m tests.drop_in svm [pytest options]``."""

from __future__ import annotations

import sys
from itertools import takewhile
from pathlib import Path

import pytest
import sklearn

FOLDER = Path(sklearn.__file__).parent
RULES = Path(__file__).with_name("pytest.ini")
PACKAGES = ("linear_model", "svm", "neighbors", "cluster", "discriminant_analysis", "naive_bayes")


def modules(package: str) -> str:
    """The tests of a scikit-learn package, or of a single module such as naive_bayes."""
    folder = FOLDER / package / "tests"
    return str(folder if folder.is_dir() else FOLDER / "tests" / f"test_{package}.py")


def main(arguments: list[str]) -> int:
    """Run the named packages (all of them by default) with the remaining options for pytest."""
    packages = list(takewhile(str.isidentifier, arguments))
    return pytest.main(
        [
            *map(modules, packages or PACKAGES),
            *("-p", "tests.drop_in.plugin", "-p", "no:cacheprovider", "-q", "--tb=no", "-rN"),
            *("-c", str(RULES), "--rootdir", str(FOLDER), "--continue-on-collection-errors"),
            *arguments[len(packages) :],
        ]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
