"""Many small products on one thread each.

A BLAS that splits a product of microseconds over processors spends its time waiting for them, the
more so on a machine that has other work to do. Solvers that call for thousands of such products
hold BLAS to one thread meanwhile and split by hand what is large.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_holders: list[Any] = []
_depth = 0


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread. Nested and concurrent holders share one change and one undoing."""
    global _depth
    with _lock:
        _depth += 1
        if _depth == 1:
            _holders.append(_controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                _holders.pop().restore_original_limits()


def small_products(d: int) -> AbstractContextManager[None]:
    """One BLAS thread for d x d matrices too small to be worth a second."""
    return one_blas_thread() if d <= 300 else nullcontext()
