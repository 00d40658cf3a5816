"""scikit-learn's callbacks, which it has since version 1.9.

Nothing else that is used here is lacking in older versions, from 1.7 on. With those a fit reports
to nobody, and callbacks are refused in words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from separatrix.messages import InputError

Method = TypeVar("Method", bound=Callable[..., Any])


class UnheardTask:
    """The task of a fit that reports to nobody."""

    def call_on_fit_task_begin(self, **_: Any) -> None:
        """Nobody listens."""

    call_on_fit_task_end = call_on_fit_task_begin


class WithoutCallbacks:
    """An estimator that takes no callbacks."""

    def set_callbacks(self, *callbacks: Any) -> Any:
        """Refuse callbacks."""
        if callbacks:
            raise InputError(
                "callbacks are a part of scikit-learn since version 1.9.",
                remedy="Install it: pip install 'scikit-learn>=1.9'.",
            )
        return self

    def _init_callback_context(self, **_: Any) -> Any:
        return UnheardTask()


def leave_method(method: Method) -> Method:
    """The method as it is: there is nothing to close after it."""
    return method


if TYPE_CHECKING:  # scikit-learn has no types
    CallbackSupportMixin = WithoutCallbacks
    with_callbacks = leave_method
else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:
        CallbackSupportMixin, with_callbacks = WithoutCallbacks, leave_method
