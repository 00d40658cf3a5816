"""Studies: split a table, cross-validate candidate models, score the winner on the test set once.

The result is plain data; reading one does not import what it takes to run one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from separatrix.study.run import run_study

__all__ = ["run_study"]


def __getattr__(name: str) -> Any:
    if name == "run_study":
        from separatrix.study.run import run_study

        return run_study
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
