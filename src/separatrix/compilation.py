"""Compilation of numerical loops: one decorator, its cache, and a line where it takes long.

A loop is compiled when it is first called, and stored beside its source or in the user's cache
folder, so that later processes only load it. Where no folder is writable every process compiles
again: the loops work all the same, and the line says what that costs.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from threading import Timer
from typing import Any

from llvmlite.binding import Linkage
from numba import njit
from numba.core import event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

#: Seconds of compilation after which a line says what is going on.
PATIENCE = 1.0
ONCE = "Compiling numerical loops: once after installation, a few seconds for each kind of model."
EVERY_TIME = (
    "Compiling numerical loops: a few seconds for each kind of model in every process, since no "
    "folder to store them is writable. Set NUMBA_CACHE_DIR to one that is."
)


class _OwnCopies(JITCodeLibrary):  # type: ignore[misc]
    """The machine code of a loop, in which all that it calls is its own.

    A loop is optimized together with copies of the loops that it calls. Numba leaves those to be
    shared, so that the first of equal name in a process stands for all: one that was optimized by
    itself where it has just been compiled, the caller's copy where that was loaded. They add in
    different orders, and the same table had other last digits in the first process than later.
    """

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal
        super()._optimize_final_module()


class _LoopCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, into a library of one's own copies."""

    def define_pipelines(self) -> Any:
        state = self.state
        if state.library is None:
            state.library = _OwnCopies(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        return super().define_pipelines()


def compiled(loop: Any = None, *, fastmath: set[str] | bool = False, inline: str = "never") -> Any:
    """Compile a loop over arrays and scalars; it runs beside other threads, and is stored.

    ``fastmath`` names liberties with the order of floating-point operations, ``inline="always"``
    copies the loop into its callers. Arrays are copied element by element: ``a[:] = b`` takes two
    seconds to compile, for the text of an error of unequal shapes.
    """
    if loop is None:
        return lambda loop: compiled(loop, fastmath=fastmath, inline=inline)
    options: dict[str, Any] = {"nogil": True, "fastmath": fastmath, "inline": inline}
    options["no_cfunc_wrapper"] = True  # nothing calls loops by address: less to compile
    options["pipeline_class"] = _LoopCompiler
    try:
        return njit(cache=True, **options)(loop)
    except RuntimeError as problem:
        if "no locator" not in str(problem):
            raise
        watch.stored = False
        return njit(**options)(loop)


def to_standard_error(line: str) -> None:
    """Print a line beside whatever the program prints."""
    print(line, file=sys.stderr, flush=True)


class CompilationWatch(event.Listener):  # type: ignore[misc]
    """Counts and times compilations, and announces once in a process that they take long.

    ``stored`` is False where compiled loops cannot be stored for later processes.
    """

    def __init__(self) -> None:
        self.stored, self.announced = True, False
        self.count, self.seconds = 0, 0.0
        self.announce: Callable[[str], None] = to_standard_error
        self._depth, self._started, self._collects = 0, 0.0, False
        self._timer: Timer | None = None

    def on_start(self, _: Any) -> None:
        """A loop begins to compile, perhaps within one that calls it."""
        self.count += 1
        self._depth += 1
        if self._depth > 1:
            return
        self._started = time.monotonic()
        self._collects = gc.isenabled()
        gc.disable()  # a compiler makes many objects: a fifth of its time would go into traversals
        if not self.announced:
            self._timer = Timer(max(0.0, PATIENCE - self.seconds), self._announce)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, _: Any) -> None:
        """A loop is compiled."""
        self._depth -= 1
        if self._depth:
            return
        if self._collects:
            gc.enable()
        self.seconds += time.monotonic() - self._started
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _announce(self) -> None:
        self.announced = True
        self.announce(ONCE if self.stored else EVERY_TIME)


watch = CompilationWatch()
event.register("numba:compile", watch)
