"""The main job: split, compare, choose, measure once.

What a study found is plain data; whoever only reads it does not pay for what it takes to run one.
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
