"""Defaults that scikit-learn is about to change, and what it warns of."""

from __future__ import annotations

from typing import Any

from separatrix.logistic.parameters import UNSET
from separatrix.messages import warn_as

#: scikit-learn's mark of a default that will change.
LATER = "warn"
_CHANGES = {
    "l1_ratios": "for l1_ratios will change from None to (0.0,)",
    "scoring": "of the parameter 'scoring' will change from None, i.e. accuracy, to 'neg_log_loss'",
    "use_legacy_attributes": "of use_legacy_attributes will change from True to False",
}


def warn_of_defaults(model: Any) -> None:
    """scikit-learn's defaults are about to change: the same warnings."""
    unset = [
        name
        for name in _CHANGES
        if isinstance(getattr(model, name), str) and getattr(model, name) == LATER
    ]
    if model.penalty != UNSET:
        warn_as(FutureWarning, "'penalty' was deprecated: use l1_ratios, such as (0.0,) for 'l2'.")
    elif model.l1_ratios is None:
        warn_as(FutureWarning, "'l1_ratios=None' was deprecated: use numbers from 0 to 1.")
    for name in unset:
        warn_as(FutureWarning, f"The default value {_CHANGES[name]}, as in scikit-learn.")
