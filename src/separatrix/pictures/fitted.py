"""Estimators as displays take them: which fitted attributes a plot needs."""

from __future__ import annotations

from typing import Any

from separatrix.messages import InputError


def require_fitted(model: Any, *attributes: str, problem: str, remedy: str | None = None) -> None:
    """Refuse an estimator without these fitted attributes, by scikit-learn's own check."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model, attributes)
    except NotFittedError:
        names = ", ".join(attributes)
        raise InputError(f"{problem} ({names}).", remedy=remedy) from None
