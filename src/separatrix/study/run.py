"""A study: split first, cross-validate on the folds, score on the test set once.

rows ─ split ─┬─ folds ─ cross-validation ─ choice ─ fit to all folds ─┐
              └─ test set ─────────────────────────────────────────────┴─ scores, once
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from separatrix.rows.dates import add_date_parts
from separatrix.rows.parts import Parts
from separatrix.rows.profile import profile
from separatrix.rows.rare_levels import pool_rare_levels, pool_rare_levels_of_stream
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.sampling import Together
from separatrix.rows.sources.stream import TableRows
from separatrix.storage import StoredMoments
from separatrix.study import inferred, tasks
from separatrix.study.announcement import listener_for
from separatrix.study.candidates import (
    Size,
    candidates,
    is_count,
    logarithm_offset,
    refuse_memory,
    with_parameters,
)
from separatrix.study.checks import check_stream, check_table
from separatrix.study.classification import ClassificationSelection
from separatrix.study.conformal import calibrate_study
from separatrix.study.design import (
    MIN_TEST_ROWS,
    MIN_TRAINING_ROWS,
    Metadata,
    RowFolds,
    StudyDesign,
    in_small_blocks,
    reason_to_stream,
    study_memory,
    too_small,
    truth_of,
    with_warnings,
)
from separatrix.study.drift import column_references
from separatrix.study.explanation import explain
from separatrix.study.findings import warnings_about
from separatrix.study.missing_values import choose_missing_policy
from separatrix.study.options import (
    Effort,
    StudyOptions,
    Validation,
    check_names,
    refuse_in_passes,
)
from separatrix.study.out_of_fold import study_rows
from separatrix.study.regression import RegressionSelection, study_moments
from separatrix.study.result import LEVEL, Study
from separatrix.study.streaming import run
from separatrix.study.tasks import CLASSIFICATION, REGRESSION, class_factors, weigh_classes
from separatrix.study.training_part import digest_of
from separatrix.threads import one_blas_thread, physical_memory


def run_study(
    rows: Rows | StoredMoments,
    *,
    task: str | None = None,
    models: Sequence[str] | None = None,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    metric: str | None = None,
    goal: str = "simplicity",
    effort: str = "normal",
    reference: bool | None = None,
    costs: Any = None,
    class_weight: Any = None,
    reject: float | None = None,
    level: float = LEVEL,
    seed: int = 0,
    test: float = 0.2,
    folds: int | str = 5,
    repeats: int = 1,
    nested: bool = False,
    progress: Any = None,
    verbose: bool = True,
    source: str = "",
    command: str = "",
) -> Study:
    """Compare models by cross-validation and score the winner once on a held-out test set.

    The rows are split into a test set and folds. Every candidate is cross-validated on the folds;
    the winner is the simplest whose loss is not worse than the best one's by more than one standard
    error of the difference, or the baseline where none beats it by two; for accuracy it is the best
    or its average with others. It is fitted to all folds and scored on the test set, once.
    Probabilities are calibrated where that lowers the log loss. A table too large for memory, or
    one of which there are only moments, is studied from moments.

    Parameters
    ----------
    rows : Rows or StoredMoments
        The table with its target, from :func:`separatrix.scan`, or stored moments of one.
    task : {"regression", "classification"}, default=None
        None infers it from the target.
    models : sequence of str, default=None
        Names of the candidates to compare with the baseline, or of any other declared estimator
        class, which come last, in the order given; None compares all candidates that are not too
        expensive for the size of the table.
    parameters : dict, default=None
        Parameters by model and name, {"ridge": {"alpha": 0.1}, "lasso": {"alphas": [0.01, 0.1]}}:
        a value fixes what would be tuned, a list narrows the search to its values.
    metric : str, default=None
        What decides. Of classes: "log_loss", "error", "auc", "f1", "balanced_error" or "cost". Of
        numbers: "rmse", "mae" or "r2". None takes the first.
    goal : {"simplicity", "accuracy"}, default="simplicity"
        "simplicity" takes the simplest model within one standard error of the difference from the
        best (and 5 % of its loss). "accuracy" takes the best, or an average where that has less
        loss on folds that chose neither: of those as good as the best with equal weights, or with
        the weights of least loss. The choice says what the other goal would take, and its score
        (``choice.other``).
    effort : {"quick", "normal", "thorough"}, default="normal"
        Limit on the work of every candidate, counted in operations: larger searches, more rows.
    reference : bool, default=None
        Whether gradient-boosted trees are shown beside the candidates, as what could be reached by
        another kind of model; they are never chosen. None shows them unless `models` are named.
    costs : dict or array-like, default=None
        Misclassification costs, {truth: {answer: cost}} or a matrix by class in order. The model
        then predicts what has the least expected cost.
    class_weight : "balanced" or dict, default=None
        What training rows of each class count for, by label; "balanced" lets all classes weigh the
        same. Probabilities are then those of such a population; test rows keep their weights.
    reject : float, default=None
        Cost of a rejection where an error costs 1; None leaves no right to abstain.
    level : float, default=0.95
        Probability of the target within its predictive interval, of models that give one
        ("bayes", "gp").
    seed : int, default=0
        Seed of the split.
    test : float, default=0.2
        Fraction of the rows in the test set.
    folds : int or "loo", default=5
        Number of folds; "loo" leaves out one row (or one group) at a time.
    repeats : int, default=1
        How often the folds are drawn; models are compared by the mean losses of each row.
    nested : bool, default=False
        Whether the whole selection is repeated without each fold and judged there: its honest
        score, and how stable the choice is.
    progress : callable or scikit-learn callback, default=None
        Called with (stage, done, total).
    verbose : bool, default=True
        Whether what was inferred and the stage under way are shown, in a notebook or on standard
        error, where no ``progress`` is given.
    source : str, default=""
        Name of the table, for the report.
    command : str, default=""
        Command that gives the same study, for the report.

    Returns
    -------
    Study
        Leaderboard, fitted model, its description, scores with 95 % intervals, and predictions on
        the test set.

    See Also
    --------
    scan : Read a table.
    run_clusters : Look for clusters in a table without a target.
    save : Store a fitted model.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone, Classification and Regression Trees,
    Wadsworth, 1984 (the rule of one standard error).

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.samples import sample
    >>> rows = sx.scan(sample("diabetes").path, target="progression")
    >>> study = sx.run_study(rows, models=["linear", "ridge"])
    >>> study.winner, study.n_train, study.n_test
    ('linear', 354, 88)
    >>> [f"{score.metric} {score.value:.2f}" for score in study.test]
    ['rmse 56.08', 'r2 0.49', 'mae 47.33']
    """
    check_names(task, models, metric)
    progress = listener_for(progress, verbose)
    metadata = Metadata(source, command)
    options = StudyOptions(
        metric,
        goal,
        Effort(effort),
        costs,
        reject,
        models is None if reference is None else reference,
        level,
        Validation.of(folds, repeats, nested),
        class_weight,
    )
    if isinstance(rows, StoredMoments) or reason_to_stream(rows):
        refuse_in_passes(parameters=parameters, class_weight=class_weight)
    if isinstance(rows, StoredMoments):
        options.validation.refuse_for_moments()
        if rows.by_class is not None:
            options.refuse_for(CLASSIFICATION)
            return run.study_class_moments(rows, models, options, progress, metadata, task)
        options.refuse_for(REGRESSION)
        return study_moments(rows, models, options, progress, metadata, inferred.only_moments())
    parts = Parts(seed, test, options.validation.folds)
    target = inferred.one_target(rows.schema)
    if task is not None:
        tasks.refuse_task(task, target)
    streamed = reason_to_stream(rows)
    if not streamed:
        # folds run side by side; how BLAS splits a product changes last digits besides
        with one_blas_thread():
            table = rows.read()
            study = _study_rows(table, parts, task, models, parameters, options, progress, metadata)
            return replace(study, row_names=_row_names(rows, len(table)))
    options.validation.refuse_for_moments()
    if isinstance(rows, TableRows):
        rows = pool_rare_levels_of_stream(
            rows,
            partial(options.effort.columns, folds=options.validation.folds),
            f"effort {options.effort.name} allows {{columns:,}} columns for {{rows:,}} rows",
        )
    found = run.stream_target(rows, target, task, parts)
    message = (found.inferred.message,) if task is None else ()
    if (task or found.inferred.task) == CLASSIFICATION:
        options.refuse_for(CLASSIFICATION)
        coded = run.with_class_target(in_small_blocks(rows), target, found.values)
        messages = message + inferred.read_in_passes(rows, streamed)
        return run.study_class_stream(
            coded, parts, models, options, progress, metadata, messages, streamed, task
        )
    options.refuse_for(REGRESSION)
    moments, copies = (
        found.sums or rows.with_parts(parts).reduce(Together(*run.regression_sums())).statistics
    )
    stored = StoredMoments(rows.schema, parts, moments)
    _, warned = with_warnings(lambda: check_stream(copies))
    messages = message + inferred.read_once(rows, streamed)
    study = study_moments(stored, models, options, progress, metadata, messages)
    return replace(study, warnings=(*warned, *study.warnings))


def _row_names(rows: Rows, count: int) -> dict[int, str]:
    """What people call the rows, for pictures that name a few of them."""
    # Above this, names of all rows would take more memory than the pictures are worth.
    most_named = 20_000
    return rows.row_names() if isinstance(rows, TableRows) and count <= most_named else {}


def _study_rows(
    table: InMemory,
    parts: Parts,
    task: str | None,
    models: Sequence[str] | None,
    parameters: Mapping[str, Mapping[str, Any]] | None,
    options: StudyOptions,
    progress: Any,
    metadata: Metadata,
) -> Study:
    digest = digest_of(table.hashes)
    table, task, messages = _with_task(add_date_parts(table), task)
    options.refuse_for(task)
    validation = options.validation
    validation.refuse_for(time=table.schema.time)
    table = _within_work(table, options.effort, parts.folds)
    columns = profile(table)
    folds, about_missing = choose_missing_policy(_split(table, parts, validation.leave_one_out))
    table, messages = folds.table, messages + about_missing
    weights: tuple[float, ...] = ()
    if options.class_weight is not None:
        weights = class_factors(table, folds.training, options.class_weight)
        table = weigh_classes(table, folds.training, weights)
        folds = replace(folds, table=table)
        messages.append(inferred.about_class_weights(table, weights))
    classes = table.block.y.shape[1] if task == CLASSIFICATION else 1
    memory = study_memory(len(table), len(table.schema.by_name))
    size = Size(
        len(folds.training),
        len(table.block.terms),
        classes,
        folds.k,
        options.effort.work,
        memory,
        sum(term.level is not None for term in table.block.terms),
    )
    offset, counts = None, False
    if task == REGRESSION:
        block = table.block.take(folds.training)
        offset = logarithm_offset(block.y[:, 0], block.weights)
        counts = is_count(block.y[:, 0], block.weights)
    compared, omitted = candidates(task, models, size, offset, counts)
    compared, given = with_parameters(compared, parameters or {}, task)
    messages += given
    refuse_memory(compared, size, physical_memory())
    checked, warned = with_warnings(lambda: check_table(table))
    messages += inferred.about(table, columns, folds, parts) + checked + omitted
    messages += inferred.about_logarithms(compared, models)
    messages += validation.about(len(compared), table.schema.group)
    work = [candidate.share for candidate in compared if candidate.tunable]
    work *= validation.comparisons
    messages += [options.effort.about(work)] if work else []
    design = StudyDesign(
        table, parts, folds, columns, compared, messages, metadata, size, progress, warned
    )
    selection = (
        RegressionSelection(options)
        if task == REGRESSION
        else ClassificationSelection.of(design, options)
    )
    explained_study = explain(study_rows(design, selection), folds)
    conformal = calibrate_study(explained_study, folds)
    study = replace(
        explained_study,
        digest=digest,
        conformal=conformal,
        class_weights=weights,
        references=column_references(table.take(folds.training)),
    )
    return replace(study, warnings=(*study.warnings, *warnings_about(study)))


def _within_work(table: InMemory, effort: Effort, folds: int) -> InMemory:
    """The table with no more levels than the moments of the design may have columns."""
    most = effort.columns(len(table), folds)
    reason = f"effort {effort.name} allows {most:,} columns for {len(table):,} rows"
    return pool_rare_levels(table, most, reason)


def _with_task(table: InMemory, task: str | None) -> tuple[InMemory, str, list[str]]:
    """The table with its target encoded for the task; the task; what was inferred."""
    messages: list[str] = []
    requested = task
    if task is None:
        inferred_task = tasks.infer_task(table.schema.targets[0], [table.block])
        task = inferred_task.task
        messages.append(inferred_task.message)
    if task == CLASSIFICATION:
        table = tasks.with_classes(table, requested)
    inferred.refuse_constant_target(truth_of(table), table.schema.targets[0].name)
    return table, task, messages


def _split(table: InMemory, parts: Parts, leave_one_out: bool) -> RowFolds:
    """Rows with the part of each; refuses a table that cannot be split."""
    labels = np.asarray(table.with_parts(parts).block.parts)
    folds = RowFolds(table, labels, table.keys.times is not None, leave_one_out)
    enough = len(folds.test) >= MIN_TEST_ROWS and len(folds.training) >= MIN_TRAINING_ROWS
    if not enough or folds.k < 2:
        raise too_small(len(folds.labels))
    return folds
