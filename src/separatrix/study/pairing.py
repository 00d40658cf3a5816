"""Two studies, or a study and the predictions of another program, on the test rows of both.

    dᵢ = lossᵢ(B) − lossᵢ(A)      on the same rows i: mean d with its interval

Rows that are hard for both add to the spread of losses, not to that of differences. Means of
losses have the interval of a mean, 1.96 standard errors of d about it; root mean squared errors
one from resampled rows, both models on the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.formatting import plural, score_info, score_text
from separatrix.messages import InputError, did_you_mean
from separatrix.notebook import Grid, Heading, Item, Sentence, Shown
from separatrix.rows.schema import unit_weights
from separatrix.study.class_scores import log_losses
from separatrix.study.measure import Z95, average, resample, standard_error
from separatrix.study.result import Score, Study
from separatrix.study.tasks import CLASSIFICATION, REGRESSION

#: The model in the directory of a study, and how columns of predictions are called.
MODEL, ROW, PREDICTED, PROBABILITY = "model.sx", "row", "predicted", "probability "


@dataclass(frozen=True)
class RowAnswers:
    """Predictions of rows by their number in the table; ``truth`` where it is known.

    ``probabilities`` have a column for each of ``classes``.
    """

    name: str
    rows: Ints
    predicted: Any
    truth: Any = None
    probabilities: Floats | None = None
    classes: tuple[str, ...] = ()
    w: Floats | None = None
    task: str = ""
    target: str = ""
    seed: int = 0

    def take(self, rows: Ints) -> RowAnswers:
        """These rows, in this order."""
        at = {row: i for i, row in enumerate(self.rows.tolist())}
        index = np.array([at[row] for row in rows.tolist()], dtype=np.int64)

        def some(values: Any) -> Any:
            return None if values is None else np.asarray(values)[index]

        return RowAnswers(
            self.name,
            rows,
            some(self.predicted),
            some(self.truth),
            some(self.probabilities),
            self.classes,
            some(self.w),
            self.task,
            self.target,
            self.seed,
        )


@dataclass(frozen=True)
class PairedScore:
    """A measure of both on the same rows, and ``difference``, second minus first, with interval."""

    metric: str
    first: float
    second: float
    difference: Score

    @property
    def better(self) -> int:
        """0 where the interval contains zero, else the one that is better: 1 or 2."""
        low, high = self.difference.low, self.difference.high
        if not (low > 0.0 or high < 0.0):
            return 0
        return 1 if low > 0.0 else 2


@dataclass(frozen=True)
class PairedComparison(Shown):
    """Two sets of predictions on common rows.

    Attributes
    ----------
    first, second : str
        What is compared.
    rows : int
        The rows of both.
    of_first, of_second : int
        How many each has.
    scores : tuple of PairedScore
        Measures and paired differences; of errors and losses, less is better.

    See Also
    --------
    compare_predictions : Make such a comparison.
    """

    first: str
    second: str
    rows: int
    of_first: int
    of_second: int
    scores: tuple[PairedScore, ...]

    @property
    def verdict(self) -> str:
        """Which is better, or that this is not shown."""
        shown = [score for score in self.scores if score.better]
        if not shown:
            return "Neither is shown to be better: every interval of a difference contains zero."
        names = {1: self.first, 2: self.second}
        parts = [f"{names[s.better]} is better in {score_info(s.metric).short}" for s in shown]
        return "; ".join(parts) + "."

    def items(self) -> list[Item]:
        """What there is to see."""
        common = f"{plural(self.rows, 'common test row')}"
        if (self.of_first, self.of_second) != (self.rows, self.rows):
            common += f" (of {self.of_first:,} and {self.of_second:,})"
        heads = ("", self.first, self.second, "difference", "95 % interval")
        lines = [_line(score) for score in self.scores]
        items: list[Item] = [Heading(common), Grid(heads, lines), Sentence(self.verdict)]
        if 2 * self.rows < min(self.of_first, self.of_second):
            why = (
                "Studies with other columns, another seed or another fraction have other test rows."
            )
            items.append(Sentence(why))
        return items

    def _display(self) -> list[Item]:
        return self.items()


def _line(score: PairedScore) -> tuple[str, ...]:
    name, d = score.metric, score.difference
    values = [score_text(v, name) for v in (score.first, score.second, d.value, d.low, d.high)]
    return (score_info(name).short, *values[:3], f"{values[3]} to {values[4]}")


def compare_predictions(
    first: Any,
    second: Any,
    *,
    row: str = ROW,
    predicted: str = PREDICTED,
    target: str | None = None,
) -> PairedComparison:
    """Compare two studies, or predictions of other programs, on the test rows of both.

        dᵢ = lossᵢ(second) − lossᵢ(first)

    Parameters
    ----------
    first, second : Study, str or path-like
        A study, its directory or its ``model.sx``; or a CSV file with the number of each row in
        the table and its prediction, as ``predictions.csv`` has them. At least one is a study,
        or has the target.
    row : str, default="row"
        The column of row numbers in CSV files, from 1.
    predicted : str, default="predicted"
        The column of predictions in CSV files; columns ``probability LEVEL`` are read beside it.
    target : str, default=None
        The target in CSV files; None takes that of the study, where there is one.

    Returns
    -------
    PairedComparison
        Measures of both and their paired differences.

    See Also
    --------
    run_study : Studies of one table with one seed have the same test rows.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.samples import sample
    >>> rows = sx.scan(sample("diabetes").path, target="progression")
    >>> a = sx.run_study(rows, models=["linear"], verbose=False)
    >>> b = sx.run_study(rows, models=["huber"], verbose=False)
    >>> found = sx.compare_predictions(a, b)
    >>> found.rows, [score.metric for score in found.scores]
    (88, ['rmse', 'mae'])
    """
    studies = [_study_of(each) for each in (first, second)]
    names = [target, *(study.target for study in studies if study is not None)]
    called = next((name for name in names if name is not None), None)
    a, b = (
        _of_file(Path(each), row, predicted, called)
        if study is None
        else _of_study(study, _name_of(each, study))
        for each, study in zip((first, second), studies, strict=True)
    )
    if a.name == b.name:
        a, b = (replace(x, name=f"{x.name} ({i})") for x, i in ((a, 1), (b, 2)))
    known = a if a.truth is not None else b
    if known.truth is None:
        raise InputError(
            "Neither has the truth of its rows.",
            remedy="Compare with a study, or give a CSV file with the target.",
        )
    tasks = {x.task for x in (a, b)} - {""}
    if len(tasks) > 1:
        raise InputError(
            f"{a.name} is a {a.task}, and {b.name} a {b.task}.", remedy="Compare like with like."
        )
    common = np.intersect1d(a.rows, b.rows)
    # Rows from which a mean of differences has an interval.
    if len(common) < 5:
        raise InputError(
            f"{a.name} and {b.name} have {plural(len(common), 'test row')} in common.",
            remedy="Study the same table with the same --seed and --test, and the same columns, "
            "on which the split depends.",
        )
    x, y = a.take(common), b.take(common)
    _refuse_other_truth(x, y)
    truth = x.truth if x.truth is not None else y.truth
    w = unit_weights(x.w if x.w is not None else y.w, len(common))
    task = next(iter(tasks), REGRESSION if _all_numbers(truth) else CLASSIFICATION)
    measure = _of_numbers if task == REGRESSION else _of_classes
    scores = measure(x, y, truth, w, known.seed)
    return PairedComparison(a.name, b.name, len(common), len(a.rows), len(b.rows), scores)


def _refuse_other_truth(x: RowAnswers, y: RowAnswers) -> None:
    """Rows of the same number in two tables are not the same rows."""
    if x.truth is None or y.truth is None:
        return
    same = np.array([_text(u) == _text(v) for u, v in zip(x.truth, y.truth, strict=True)])
    if not same.all():
        at = int(np.argmin(same))
        raise InputError(
            f"{x.name} and {y.name} are not about the same rows: the target is {x.truth[at]} and "
            f"{y.truth[at]}.",
            row=int(x.rows[at]),
            remedy="Compare studies of one table.",
        )


def _text(value: Any) -> str:
    """A value of the target as text: 1, 1.0 and "1" are the same."""
    try:
        return repr(float(value))
    except (TypeError, ValueError):
        return str(value)


def _all_numbers(values: Any) -> bool:
    return np.asarray(values).dtype.kind in "fiu"


# -------------------------------------------------------------------------------------------------
# Measures of both.


def _of_numbers(
    x: RowAnswers, y: RowAnswers, truth: Any, w: Floats, seed: int
) -> tuple[PairedScore, ...]:
    """RMSE by resampled rows, mean absolute error by its differences."""
    t = np.asarray(truth, dtype=float)
    e, f = (t - _numbers(answers) for answers in (x, y))
    sums = np.stack([w, w * e**2, w * f**2], axis=1)

    def rmse(of: Floats) -> Floats:
        return np.sqrt(of[:, 1:] / of[:, :1])

    point, drawn = rmse(sums.sum(axis=0)[None])[0], rmse(resample(sums, seed))
    low, high = np.percentile(drawn[:, 1] - drawn[:, 0], [2.5, 97.5])
    apart = Score("rmse", float(point[1] - point[0]), float(low), float(high))
    first = PairedScore("rmse", float(point[0]), float(point[1]), apart)
    return first, _mean_difference("mae", np.abs(e), np.abs(f), w)


def _numbers(answers: RowAnswers) -> Floats:
    try:
        values = np.asarray(answers.predicted, dtype=float)
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if not np.isfinite(values).all():
        raise InputError(
            "predictions of a numeric target must be numbers.",
            file=answers.name,
            remedy="Correct them, or leave out their rows.",
        )
    return values


def _of_classes(
    x: RowAnswers, y: RowAnswers, truth: Any, w: Floats, _: int
) -> tuple[PairedScore, ...]:
    """Log loss where both have probabilities, and the error rate."""
    texts = np.array([_text(t) for t in truth])
    wrong = [
        (np.array([_text(p) for p in answers.predicted]) != texts).astype(float)
        for answers in (x, y)
    ]
    scores = [_mean_difference("error", wrong[0], wrong[1], w)]
    if x.probabilities is not None and y.probabilities is not None:
        losses = [_log_losses(answers, texts) for answers in (x, y)]
        scores.insert(0, _mean_difference("log_loss", losses[0], losses[1], w))
    return tuple(scores)


def _log_losses(answers: RowAnswers, texts: Any) -> Floats:
    at = {_text(level): j for j, level in enumerate(answers.classes)}
    codes = np.array([at.get(text, -1) for text in texts])
    assert answers.probabilities is not None
    return log_losses(answers.probabilities, codes)


def _mean_difference(metric: str, a: Floats, b: Floats, w: Floats) -> PairedScore:
    d = b - a
    mean, error = average(d, w), standard_error(d, w)
    score = Score(metric, mean, mean - Z95 * error, mean + Z95 * error)
    return PairedScore(metric, average(a, w), average(b, w), score)


# -------------------------------------------------------------------------------------------------
# Studies and files as predictions.


def _study_of(source: Any) -> Study | None:
    """The study that was given, or that is stored there; None of a CSV file."""
    if isinstance(source, Study):
        return source
    path = Path(source)
    if path.suffix.lower() == ".csv":
        return None
    from separatrix.storage.model_file import load_study

    study = load_study(path / MODEL if path.is_dir() else path)
    if not isinstance(study, Study):
        raise InputError(
            "holds no study of a target.",
            file=str(source),
            remedy="Name the directory of separatrix fit, its model.sx, or a CSV file.",
        )
    return study


def _name_of(source: Any, study: Study) -> str:
    """A study by its directory, or by its winner."""
    if isinstance(source, Study):
        return study.winner
    path = Path(source)
    return path.name if path.is_dir() else path.parent.name or path.stem


def _of_study(study: Study, name: str) -> RowAnswers:
    test = study.test_predictions
    if test is None or test.rows is None:
        raise InputError(
            f"{name} has no list of its test rows: it was a study of sums or of a stream.",
            remedy="Study a table that fits into memory.",
        )
    return RowAnswers(
        name,
        np.asarray(test.rows, dtype=np.int64),
        np.asarray(test.predicted),
        np.asarray(test.truth),
        test.probabilities,
        study.classes,
        test.w,
        study.task,
        study.target,
        study.seed,
    )


def _of_file(path: Path, row: str, predicted: str, target: str | None) -> RowAnswers:
    """Predictions in a CSV file, with the truth if it has the target."""
    import pyarrow as pa
    from pyarrow import csv

    try:
        table = csv.read_csv(path)
    except FileNotFoundError:
        raise InputError("does not exist.", file=str(path), remedy="Check the path.") from None
    except pa.ArrowInvalid as reason:
        raise InputError(
            f"cannot be read as CSV ({reason}).", file=str(path), remedy="Check its lines."
        ) from reason
    names = table.column_names
    for name, option in ((row, "row"), (predicted, "predicted")):
        if name not in names:
            raise InputError(
                f"there is no column {name!r} (given as {option}).",
                file=str(path),
                remedy=did_you_mean(name, names),
            )
    numbers = table.column(row).to_pylist()
    if not all(isinstance(n, int) for n in numbers) or len(set(numbers)) < len(numbers):
        raise InputError(
            "row numbers must be whole numbers, each once.",
            file=str(path),
            column=row,
            remedy="Number the rows of the table from 1.",
        )
    classes = tuple(n.removeprefix(PROBABILITY) for n in names if n.startswith(PROBABILITY))
    columns = [table.column(PROBABILITY + level).to_pylist() for level in classes]
    return RowAnswers(
        path.stem,
        np.asarray(numbers, dtype=np.int64),
        np.array(table.column(predicted).to_pylist(), dtype=object),
        np.array(table.column(target).to_pylist()) if target in names else None,
        np.array(columns, dtype=float).T if classes else None,
        classes,
    )


def comparison_document(found: PairedComparison) -> dict[str, Any]:
    """A comparison as JSON values."""
    from separatrix.study.document import plain

    names: Sequence[str] = (found.first, found.second)
    scores = [
        {
            "metric": s.metric,
            "first": plain(s.first),
            "second": plain(s.second),
            "difference": plain(s.difference.value),
            "interval": [plain(v) for v in (s.difference.low, s.difference.high)],
            "better": names[s.better - 1] if s.better else None,
        }
        for s in found.scores
        if math.isfinite(s.difference.value)
    ]
    return {
        "first": found.first,
        "second": found.second,
        "rows": {"common": found.rows, "first": found.of_first, "second": found.of_second},
        "scores": scores,
        "verdict": found.verdict,
    }
