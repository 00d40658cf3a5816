"""Defaults that scikit-learn is about to change, and what it warns of."""

from __future__ import annotations

import warnings
from typing import Any

from separatrix.logistic.parameters import UNSET

#: scikit-learn's mark of a default that will change.
LATER = "warn"


def warn_of_defaults(model: Any) -> None:
    """scikit-learn's defaults are about to change: the same warnings, in one."""
    unset = [
        name
        for name in ("l1_ratios", "scoring", "use_legacy_attributes")
        if isinstance(getattr(model, name), str) and getattr(model, name) == LATER
    ]
    if model.penalty != UNSET:
        _future("'penalty' was deprecated: use l1_ratios, such as (0.0,) for 'l2'.")
    elif model.l1_ratios is None:
        _future("'l1_ratios=None' was deprecated: use numbers from 0 to 1.")
    for name in unset:
        later = {"l1_ratios": "(0.0,)", "scoring": "'neg_log_loss'"}.get(name, "False")
        _future(f"The default value of {name} will change to {later}, as in scikit-learn.")


def _future(text: str) -> None:
    warnings.warn(text, FutureWarning, stacklevel=5)
