"""Progress reports: to a plain callable, a listener, or any callback of scikit-learn's interface.

Each becomes ``step(stage)``, called when a stage of the study begins. A callable gets (stage, done,
total). A :class:`Listener` hears more: how the work is shared among the stages, what was inferred
before anything is fitted, and the leaderboard as soon as there is one. A scikit-learn callback
(``sklearn.callback.ProgressBar()``, say) sees the study as an estimator with one task for each
stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from separatrix.study.candidates import Candidate
    from separatrix.study.result import Entry

Step = Callable[[str], None]
#: Called with the stage that begins, the number of stages done, and the number of all.
Report = Callable[[str, int, int], None]


class Listener:
    """Hears of a study while it runs; every method may be overridden, none has to be."""

    def __call__(self, stage: str, n_done: int, total: int) -> None:
        """A stage begins, after ``done`` of ``total``."""

    def planned(self, proportions: Sequence[float]) -> None:
        """The proportion of the work in each stage, in order; they sum to one."""

    def inferred(self, messages: Sequence[str], candidates: Sequence[str]) -> None:
        """What was inferred, and which models will be compared, before any of them is fitted."""

    def compared(self, entries: Sequence[Entry], winner: str, reason: str) -> None:
        """The leaderboard, the candidate chosen, and why."""


def tell_inferred(progress: Any, messages: Sequence[str], candidates: Iterable[Candidate]) -> None:
    """Tell a listener what was inferred; other reports of progress do not ask."""
    if isinstance(progress, Listener):
        progress.inferred(tuple(messages), tuple(candidate.name for candidate in candidates))


def tell_compared(progress: Any, entries: Sequence[Entry], winner: str, reason: str) -> None:
    """Tell a listener the leaderboard; other reports of progress do not ask."""
    if isinstance(progress, Listener):
        progress.compared(tuple(entries), winner, reason)


#: Rows at which the reference takes as long again as the comparison of a simple model, which is
#: mostly overhead; and the most that a comparison takes, since searches of many rows are limited.
REFERENCE_ROWS, MOST_UNITS = 80, 150.0


def work_of(candidates: Iterable[Candidate], rows: int, *, reference: bool) -> list[float]:
    """Typical work of the stages of a study, for the time left alone.

    They are the comparison of each candidate, then the fit, the reference, the scores and the
    learning curve.
    """

    def units(each: float) -> float:
        return 1.0 + min(MOST_UNITS, rows / each)

    compared = [units(candidate.rows_a_unit) for candidate in candidates]
    return [*compared, 1.0, units(REFERENCE_ROWS) if reference else 0.0, 0.5, 2.0]


@contextmanager
def stages(progress: Any, work: int | Sequence[float]) -> Iterator[Step]:
    """``step`` for a study in stages; callbacks are closed whatever happens.

    ``work`` is the work of each stage, in any unit, or the number of stages of equal work.
    """
    weights = [1.0] * work if isinstance(work, int) else [max(0.0, w) for w in work]
    total = len(weights)
    if isinstance(progress, Listener):
        whole = sum(weights)
        progress.planned([w / whole if whole > 0 else 1 / total for w in weights])
    if progress is None:
        yield _silent
    elif hasattr(progress, "on_fit_task_begin"):
        with _with_callback(progress, total) as step:
            yield step
    else:
        done = 0

        def step(stage: str) -> None:
            nonlocal done
            progress(stage, done, total)
            done += 1

        yield step
        progress("done", total, total)


def _silent(stage: str) -> None:
    """No progress is reported."""


@contextmanager
def _with_callback(callback: Any, total: int) -> Iterator[Step]:
    from separatrix.callbacks import CallbackSupportMixin

    # Callbacks show an estimator by the name of its class.
    study = type("Study", (CallbackSupportMixin,), {})().set_callbacks(callback)
    root = study._init_callback_context(task_name="study", max_subtasks=total)
    root.call_on_fit_task_begin(estimator=study)
    under_way: list[Any] = []

    def finish() -> None:
        while under_way:
            under_way.pop().call_on_fit_task_end(estimator=study)

    def step(stage: str) -> None:
        finish()
        under_way.append(root.subcontext(task_name=stage))
        under_way[-1].call_on_fit_task_begin(estimator=study)

    try:
        yield step
        finish()
        root.call_on_fit_task_end(estimator=study)
    finally:
        callback.teardown(estimator=study, context=root)
