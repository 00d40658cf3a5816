"""Limits on the threads of BLAS.

A BLAS that splits a product of microseconds over processors spends its time waiting for them.
Solvers that need thousands of such products limit BLAS to one thread meanwhile, and split what is
large themselves.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_limits: list[Any] = []
_depth = 0


_controllers: dict[bool, ThreadpoolController] = {}


def _controller() -> ThreadpoolController:
    """The BLAS libraries that are loaded: looked for again once SciPy has brought its own."""
    scipy = "scipy.linalg" in sys.modules
    if scipy not in _controllers:
        _controllers[scipy] = ThreadpoolController()
    return _controllers[scipy]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; nested and concurrent limits are set and restored once."""
    global _depth
    with _lock:
        _depth += 1
        if _depth == 1:
            _limits.append(_controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                _limits.pop().restore_original_limits()


def small_products(d: int) -> AbstractContextManager[None]:
    """One BLAS thread where d x d matrices are too small for several."""
    return one_blas_thread() if d <= 300 else nullcontext()
