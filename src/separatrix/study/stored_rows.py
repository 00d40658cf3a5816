"""Which training rows a fitted model contains."""

from __future__ import annotations

from typing import Any

import numpy as np


def memory_of(model: Any) -> str:
    """The training rows within a model, in a phrase; empty for one that needs none."""
    if hasattr(model, "points_"):
        return f"all {len(model.points_)} training rows"
    if hasattr(model, "expansions_") and not hasattr(model, "coef_"):
        kept = len(np.unique(model.support_))
        return f"{kept} of {model.n_samples_fit_} training rows, its support vectors"
    return ""
