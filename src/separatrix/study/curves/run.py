"""A study of learning curves: read a table, fit every size and complexity, say what helps."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.rows import InMemory, Rows
from separatrix.selection.curves.curves import design_of_training
from separatrix.selection.curves.losses import Losses, Step, losses_from_moments
from separatrix.selection.curves.nesting import Nesting
from separatrix.selection.curves.result import LearningCurves
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moments import Moments
from separatrix.study import inferred, tasks
from separatrix.study.checks.table import check_table
from separatrix.study.comparison.cross_validation import muted
from separatrix.study.curves import ladder as ladders
from separatrix.study.curves.result import ColumnCurve, CurveStudy
from separatrix.study.curves.verdict import advise
from separatrix.study.design import with_warnings
from separatrix.study.folds import truth_of
from separatrix.study.progress import stages, tell_inferred
from separatrix.study.size import reason_to_stream
from separatrix.study.tasks import CLASSIFICATION, REGRESSION
from separatrix.threads import one_blas_thread

#: Columns, once encoded, and rows of classes, for which all sizes are fitted.
MOST_COLUMNS, MOST_CLASS_ROWS = 600, 20_000
#: Rows that a stream is taken to have: enough for all ranks.
MANY = 10**6
STAGES = 6

Found = tuple[list[str], Losses, ColumnCurve | None, list[str]]


def run_curve(
    rows: Rows,
    *,
    task: str | None = None,
    folds: int = 5,
    seed: int = 0,
    progress: Any = None,
    source: str = "",
    command: str = "",
) -> CurveStudy:
    """Learning curves of a table, and whether more rows, columns or flexibility would help.

    Models of growing flexibility (a constant, a linear model, polynomials, nearest neighbors) are
    fitted to nested training sets of growing size, and tested on the same rows left out. The curve
    of the best is extended by a power law; random choices of the columns say what columns add. No
    test set is held out: errors are those of folds.

    Parameters
    ----------
    rows : Rows
        The table with its target, from :func:`separatrix.scan`.
    task : {"regression", "classification"}, default=None
        None infers it from the target.
    folds : int, default=5
        Number of folds.
    seed : int, default=0
        Seed of the split and of the choices of columns.
    progress : callable or scikit-learn callback, default=None
        Called with (stage, done, total).
    source : str, default=""
        Name of the table, for the report.
    command : str, default=""
        Command that gives the same study, for the report.

    Returns
    -------
    CurveStudy
        The curves, what would help, and a sentence on each; prints as text.

    See Also
    --------
    learning_curves : Curves of models of your own.
    run_study : Choose and test a model.

    References
    ----------
    C. Cortes, L. D. Jackel, S. A. Solla, V. Vapnik and J. S. Denker, Learning curves:
    asymptotic values and rate of convergence, NIPS, 1993.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.samples import sample
    >>> rows = sx.scan(sample("diabetes").path, target="progression")
    >>> study = sx.run_curve(rows)
    >>> study.curves.names
    ('mean', 'linear', 'degree 2', 'neighbors')
    >>> [(advice.what, advice.answer) for advice in study.advice]
    [('more rows', 'no'), ('more columns', 'unclear'), ('a more flexible model', 'no')]
    """
    target = inferred.one_target(rows.schema)
    if task is not None:
        tasks.refuse_task(task, target)
    streamed = reason_to_stream(rows)
    with one_blas_thread(), stages(progress, STAGES) as step:
        step("reading")
        if streamed:
            found, about = _streamed(rows, task, streamed, folds, seed)
        else:
            found, about = _in_memory(rows.read(), task, folds, seed, progress, step)
        step("power laws")
        names, losses, columns, notes = found
        loss = "squared error" if about["task"] == REGRESSION else "error rate"
        curves = LearningCurves(
            losses.sizes, tuple(names), losses.validation, losses.training, loss
        )
        advice, summary = advise(curves, columns, about["n_columns"])
    messages = (*about.pop("messages"), *notes)
    return CurveStudy(
        target=target.name,
        curves=curves,
        columns=columns,
        advice=advice,
        summary=summary,
        messages=messages,
        source=source,
        command=command,
        seed=seed,
        **about,
    )


def _in_memory(
    table: InMemory, task: str | None, folds: int, seed: int, progress: Any, step: Any
) -> tuple[Found, dict[str, Any]]:
    messages: list[str] = []
    if table.keys.times is not None:
        raise InputError(
            "Learning curves take rows at random, and a time column puts them in order.",
            remedy="Leave out `time`, or use run_study, whose curve respects it.",
        )
    requested = task
    if task is None:
        seen = tasks.infer_task(table.schema.targets[0], [table.block])
        task = seen.task
        messages.append(seen.message)
    if task == CLASSIFICATION:
        table = tasks.with_classes(table, requested)
    inferred.refuse_constant_target(truth_of(table), table.schema.targets[0].name)
    found, warned = with_warnings(lambda: check_table(table))
    n_rows = len(table)
    if task == CLASSIFICATION and n_rows > MOST_CLASS_ROWS:
        some = np.random.default_rng(seed).permutation(n_rows)[:MOST_CLASS_ROWS]
        table = table.take(np.sort(some))
        messages.append(f"{MOST_CLASS_ROWS:,} rows of {n_rows:,}, drawn at random, are used.")
    if len(table.block.terms) > MOST_COLUMNS:
        raise InputError(
            f"{len(table.block.terms)} columns, levels counted, are too many for a model of every "
            "size and complexity.",
            remedy=f"Ignore some (kinds={{…: 'ignore'}}); up to {MOST_COLUMNS} are fitted.",
        )
    messages += found
    tell_inferred(progress, [*messages, *warned], ())
    with muted():
        ladder = ladders.Ladder.of(table, folds, seed)
        fit = ladders.numbers if task == REGRESSION else ladders.classes
        result = fit(ladder, seed, step)
    about = {
        "task": task,
        "n_rows": n_rows,
        "n_columns": len(table.schema.columns),
        "messages": messages,
        "warnings": warned,
    }
    return result, about


def _streamed(
    rows: Rows, task: str | None, why: str, folds: int, seed: int
) -> tuple[Found, dict[str, Any]]:
    """The linear model alone, from one pass over a table that is not read into memory."""
    seen = tasks.infer_task(rows.schema.targets[0], rows.blocks())
    if (task or seen.task) == CLASSIFICATION:
        raise inferred.cannot_classify(why)
    nesting = Nesting.of(MANY, folds)
    parts = rows.with_parts(nesting.parts(seed)).reduce(Grouped(Moments())).parts

    steps = [Step("mean", ladders.Constant()), Step(ladders.LINEAR, ladders.linear_model())]
    with muted():
        losses = losses_from_moments(parts, nesting, steps, design_of_training(rows))
    n = sum(part.count for part in parts.values())
    about = {
        "task": REGRESSION,
        "n_rows": n,
        "n_columns": len(rows.schema.columns),
        "messages": [f"The table is {why}: linear models alone, from one pass."],
        "warnings": (),
    }
    return ([step.name for step in steps], losses, None, []), about
