"""How many threads any work may use, and work on that many.

The number is the fewest of: the processors this process may run on, the quota of its container,
``SEPARATRIX_THREADS``, the limits that ``joblib`` and Dask set for their workers
(``OMP_NUM_THREADS``, ``NUMBA_NUM_THREADS``), a limit of ``threadpoolctl`` in force, and ``n_jobs``
of an estimator (:func:`thread_limit`). A process of a pool that was given none of these uses one
thread.

:func:`parallel_map` runs the pieces of a piece of work. Pieces never depend on the number of
threads, and BLAS has one thread meanwhile, so results are the same bits for any number of threads.
All calls of a process share one budget: fits side by side, or folds within a fit, do not multiply.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache, wraps
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from separatrix.messages import InputError

A = TypeVar("A")
T = TypeVar("T")

#: Pieces that a large piece of work is cut into, at least: 16 threads then wait little at the end.
MIN_PIECES = 64
#: Numbers that are worth a piece of their own: to read them takes as long as to wake a thread.
PIECE_NUMBERS = 100_000
#: Variables by which ``joblib`` and Dask tell their workers how many threads to use.
WORKER_LIMITS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
#: Variables from which BLAS takes its own number of threads.
BLAS_LIMITS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")

_lock = Lock()
_limits: dict[Any, int] = {}  # threads of each BLAS library before our limit
_depth = 0
_libraries: dict[bool, list[Any]] = {}


# -- how many ----------------------------------------------------------------------------------


def available_threads() -> int:
    """How many threads this process may use now, all limits considered."""
    given = [_environment(name) for name in ("SEPARATRIX_THREADS", *WORKER_LIMITS)]
    limits = [limit for limit in (*given, _blas_limit()) if limit is not None]
    if not any(given) and multiprocessing.parent_process() is not None:
        limits.append(1)  # a worker that nobody told its part: its siblings have the others
    return min(_processors(), *limits) if limits else _processors()


@cache
def _processors() -> int:
    """The processors this process may run on, or the quota of its container if that is less."""
    if hasattr(os, "sched_getaffinity"):
        affinity = len(os.sched_getaffinity(0))
    else:
        affinity = os.cpu_count() or 1
    return max(1, min(affinity, _quota()))


def _quota() -> int:
    """Whole processors that control groups leave this process; very many without a quota."""
    quotas = [sys.maxsize]
    for folder in _control_groups():
        try:
            if (folder / "cpu.max").exists():
                amount, period = (folder / "cpu.max").read_text().split()
            else:
                amount = (folder / "cpu.cfs_quota_us").read_text().strip()
                period = (folder / "cpu.cfs_period_us").read_text().strip()
            if amount not in ("max", "-1"):
                quotas.append(-(-int(amount) // int(period)))
        except (OSError, ValueError):
            continue
    return min(quotas)


def _control_groups(root: Path = Path("/sys/fs/cgroup")) -> list[Path]:
    """The folders of this process's control groups and of those above them."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    folders: dict[Path, None] = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        base = root / controllers if controllers else root
        own = base / path.lstrip("/")
        for folder in (own, *own.parents):
            if folder == base or base in folder.parents:
                folders[folder] = None
    return list(folders)


def _environment(name: str) -> int | None:
    """A positive whole number from the environment; None if there is none."""
    text = os.environ.get(name, "").split(",")[0].strip()
    if not text:
        return None
    if text.isdigit() and int(text) > 0:
        return int(text)
    if name == "SEPARATRIX_THREADS":
        raise InputError(
            f"SEPARATRIX_THREADS is {text!r}, which is not a number of threads.",
            remedy="Set it to a positive whole number, or leave it unset.",
        )
    return None


def _blas_limit() -> int | None:
    """The threads of BLAS, where they are fewer than it would take by itself: a limit in force."""
    with _lock:
        # under our own limit, what counts is the number before it
        counts = list(_limits.values()) if _depth else [lib.num_threads for lib in _blas()]
    settings = [_environment(name) for name in BLAS_LIMITS]
    usual = min(count for count in (_processors(), *settings) if count is not None)
    return min((count for count in counts if count < usual), default=None)


class _Budget:
    """Threads in use out of ``limit``; None for what the process has available."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit, self.used = limit, 0

    def free(self) -> int:
        limit = available_threads() if self.limit is None else self.limit
        return limit - self.used


_budget_lock = Lock()
_process_budget = _Budget()
_budgets: ContextVar[tuple[_Budget, ...]] = ContextVar("budgets", default=(_process_budget,))
_inside: ContextVar[bool] = ContextVar("inside", default=False)


@contextmanager
def thread_limit(n_jobs: int | None) -> Iterator[None]:
    """Limit the threads of everything within, as scikit-learn's ``n_jobs`` does.

    None sets no limit of its own, -1 stands for all, -2 for all but one.
    """
    if n_jobs is None or n_jobs == -1:
        yield
        return
    if n_jobs == 0:
        raise InputError("n_jobs is 0.", remedy="Give a number of threads, -1 for all, or None.")
    limit = n_jobs if n_jobs > 0 else max(1, available_threads() + 1 + n_jobs)
    token = _budgets.set((*_budgets.get(), _Budget(limit)))
    try:
        yield
    finally:
        _budgets.reset(token)


def thread_count() -> int:
    """How many threads a call of :func:`parallel_map` would use here and now, at most."""
    with _budget_lock:
        free = min(budget.free() for budget in _budgets.get())
    return max(1, free + 1 if _inside.get() else free)


@contextmanager
def _taken(wanted: int) -> Iterator[int]:
    """Take up to ``wanted`` threads from every budget; yield how many, the caller among them."""
    budgets, nested = _budgets.get(), _inside.get()
    with _budget_lock:
        free = min(budget.free() for budget in budgets)
        granted = max(1, min(wanted, free + 1 if nested else free))
        counted = granted - 1 if nested else granted
        for budget in budgets:
            budget.used += counted
    token = _inside.set(True)
    try:
        yield granted
    finally:
        _inside.reset(token)
        with _budget_lock:
            for budget in budgets:
                budget.used -= counted


# -- work on threads ---------------------------------------------------------------------------


def parallel_map(work: Callable[[A], T], items: Sequence[A]) -> list[T]:
    """``[work(item) for item in items]`` on as many threads as are free, the caller among them.

    Threads take the next piece from a counter: no lock, no queue. ``work`` should release the
    interpreter (compiled loops with ``nogil``, BLAS), and write only where no other piece does.
    Of several errors that of the first item is raised.
    """
    count = len(items)
    results: list[Any] = [None] * count
    with one_blas_thread():
        if count < 2:
            return [work(item) for item in items]
        with _taken(count) as granted:
            if granted < 2:
                return [work(item) for item in items]
            turn, errors = itertools.count(), dict[int, BaseException]()

            def run() -> None:
                while not errors and (i := next(turn)) < count:
                    try:
                        results[i] = work(items[i])
                    except BaseException as error:
                        errors[i] = error

            helpers = [_pool().submit(copy_context().run, run) for _ in range(granted - 1)]
            run()
            for helper in helpers:
                if not helper.cancel():  # one that has not started yet is no longer needed
                    helper.result()
            if errors:
                raise errors[min(errors)]
    return results


def on_threads(work: Callable[[], None], most: int) -> None:
    """Call ``work`` on as many threads as are free: it takes pieces itself, of ``most`` in all."""
    parallel_map(lambda _: work(), range(min(thread_count(), most)))


def pieces(n: int, smallest: int = 1, most: int = MIN_PIECES) -> list[slice]:
    """Cut ``n`` rows into at most ``most`` equal slices of at least ``smallest`` rows.

    The cuts depend on ``n`` alone, never on the number of threads.
    """
    count = max(1, min(most, n // max(smallest, 1)))
    cuts = [n * i // count for i in range(count + 1)]
    return [slice(start, stop) for start, stop in itertools.pairwise(cuts)]


@cache
def _pool() -> ThreadPoolExecutor:
    """Waiting threads, started as needed: starting new ones takes longer than small work."""
    return ThreadPoolExecutor(512, "separatrix")


def _after_fork() -> None:
    """A forked process has none of the threads of its parent, and none of their locks."""
    global _lock, _budget_lock, _depth
    _lock, _budget_lock = Lock(), Lock()
    _depth, _process_budget.used = 0, 0
    _limits.clear()
    _pool.cache_clear()
    _processors.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# -- BLAS --------------------------------------------------------------------------------------


def _blas() -> list[Any]:
    """The BLAS libraries that are loaded: looked for again once SciPy has brought its own."""
    scipy = "scipy.linalg" in sys.modules
    if scipy not in _libraries:
        loaded = ThreadpoolController().lib_controllers
        _libraries[scipy] = [library for library in loaded if library.user_api == "blas"]
    return _libraries[scipy]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; nested and concurrent limits are set and restored once.

    A BLAS that splits a product of microseconds over processors spends its time waiting for them,
    and sums in an order that depends on their number.
    """
    global _depth
    with _lock:
        _depth += 1
        if _depth == 1:
            for library in _blas():
                _limits[library] = library.num_threads
                library.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                while _limits:
                    library, threads = _limits.popitem()
                    library.set_num_threads(threads)


def on_one_blas_thread(method: Callable[..., T]) -> Callable[..., T]:
    """``method`` with one thread for BLAS: its result then does not depend on their number."""

    @wraps(method)
    def run_limited(*args: Any, **kwargs: Any) -> T:
        with one_blas_thread():
            return method(*args, **kwargs)

    return run_limited


# -------------------------------------------------------------------------------------------------
# How much memory there is, for work that must hold a whole matrix.


def physical_memory() -> float:
    """Bytes of physical memory; infinite where the system does not report them."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def memory_budget() -> float:
    """Bytes for a table: ``SEPARATRIX_MEMORY`` (in MB), else a quarter of all, 4 GB at most."""
    limit = os.environ.get("SEPARATRIX_MEMORY")
    return float(limit) * 1e6 if limit else min(physical_memory() / 4, 4 << 30)
