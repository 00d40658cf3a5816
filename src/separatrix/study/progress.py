"""Progress reports: to a plain callable, or to any callback of scikit-learn's interface.

Either becomes ``step(stage)``, called when a stage of the study begins. A
scikit-learn callback (``sklearn.callback.ProgressBar()``, say) sees the study as an estimator
with one task for each stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Step = Callable[[str], None]
#: Called with the stage that begins, the number of stages done, and the number of all.
Report = Callable[[str, int, int], None]


@contextmanager
def stages(progress: Any, total: int) -> Iterator[Step]:
    """``step`` for a study of ``total`` stages; callbacks are closed whatever happens."""
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
    from sklearn.callback import CallbackSupportMixin

    class Study(CallbackSupportMixin):  # type: ignore[misc]
        """The estimator that callbacks see."""

    study = Study().set_callbacks(callback)
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
