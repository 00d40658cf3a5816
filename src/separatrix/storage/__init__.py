"""Save and load without pickle: models as ``.sx``, mergeable moments as ``.moments``.

Names are imported on first use: writing a file does not take what a model file takes.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from separatrix.storage.model_file import load, load_study, save
    from separatrix.storage.moments_file import (
        StoredMoments,
        load_moments,
        merge_moments,
        save_moments,
        summarize,
    )

__all__ = [
    "StoredMoments",
    "load",
    "load_moments",
    "load_study",
    "merge_moments",
    "save",
    "save_moments",
    "summarize",
]

_HOMES = {
    **dict.fromkeys(("load", "load_study", "save"), "model_file"),
    **dict.fromkeys(("merge_moments", "summarize"), "moments_file"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES.get(name, "moments_file")
    return getattr(importlib.import_module(f"separatrix.storage.{home}"), name)
