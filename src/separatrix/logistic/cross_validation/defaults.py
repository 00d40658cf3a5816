"""Defaults that scikit-learn is about to change, and what it warns of."""

from __future__ import annotations

import warnings
from typing import Any

from separatrix.logistic.parameters import UNSET

#: scikit-learn's mark of a default that will change.
LATER = "warn"
_CHANGES = {
    "l1_ratios": "from None to (0.0,)",
    "scoring": "from None, i.e. accuracy, to 'neg_log_loss'",
    "use_legacy_attributes": "from True to False",
}


def warn_of_defaults(model: Any) -> None:
    """scikit-learn's defaults are about to change: the same warnings, in one."""
    unset = [
        name
        for name in _CHANGES
        if isinstance(getattr(model, name), str) and getattr(model, name) == LATER
    ]
    if model.penalty != UNSET:
        _future("'penalty' was deprecated: use l1_ratios, such as (0.0,) for 'l2'.")
    elif model.l1_ratios is None:
        _future("'l1_ratios=None' was deprecated: use numbers from 0 to 1.")
    for name in unset:
        _future(f"The default value of {name} will change {_CHANGES[name]}, as in scikit-learn.")


def _future(text: str) -> None:
    warnings.warn(text, FutureWarning, stacklevel=5)
