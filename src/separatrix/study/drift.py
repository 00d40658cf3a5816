"""New rows against the training rows: columns, levels, ranges, distributions, and the score.

Of every column the study keeps what its distribution needs. With F of n training rows and G of m
new rows, a column of numbers is compared by the distance of Kolmogorov and Smirnov, and one of
levels by the largest difference of a proportion:

    D = max_v |F(v) − G(v)|,      D = max_l |f(l) − g(l)|

Both have an interval that holds for any distribution. That of numbers is of Dvoretzky, Kiefer and
Wolfowitz with Massart's constant; that of levels of Clopper and Pearson, for every level:

    |D − max |F₀ − G₀|| ≤ √(log(4/α) / 2n) + √(log(4/α) / 2m)

α is divided by the number of columns, so that all intervals hold together. A column has drifted
where its interval lies above zero: of rows from the distribution of training, some column does in
less than one check of twenty.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats
from separatrix.formatting import plural, score_info, score_text, value_text
from separatrix.messages import InputError
from separatrix.notebook import BAD, GOOD, Grid, Heading, Item, Sentence, Shown
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Block, Column, Kind, Schema, to_array
from separatrix.study.result import ColumnReference, Study

if TYPE_CHECKING:
    from separatrix.study.result import Score

#: Points at which the distribution of a column is kept: steps of one per cent.
POINTS = 101
#: The model in the directory of a study.
MODEL = "model.sx"
#: A column beside the rows without a value, which is compared like a level.
MISSING = "(missing)"


def column_references(rows: InMemory) -> tuple[ColumnReference, ...]:
    """What a study keeps of its training rows, column by column; nothing of very many columns."""
    columns = rows.schema.columns
    # Columns beyond which none is kept, so that files stay small.
    if len(columns) > 2_000:
        return ()
    raw = _RawColumns(rows.block)
    return tuple(_reference(column, raw, len(rows)) for column in columns)


def _reference(column: Column, raw: _RawColumns, n: int) -> ColumnReference:
    kind = str(column.kind)
    if column.kind is Kind.DISCRETE:
        counts = raw.levels(column.name)
        present, levels = sum(counts.values()), tuple(sorted(counts))
        proportions = np.array([counts[level] / max(present, 1) for level in levels])
        return ColumnReference(column.name, kind, n, n - present, np.zeros(0), proportions, levels)
    x = raw.numbers(column.name)
    known = np.sort(x[np.isfinite(x)])
    values = np.unique(known)
    if len(values) > POINTS:
        values = np.unique(known[np.linspace(0, len(known) - 1, POINTS).round().astype(int)])
    up_to = np.searchsorted(known, values, side="right") / max(len(known), 1)
    return ColumnReference(
        column.name, kind, n, n - len(known), values, up_to, display=column.display
    )


class _RawColumns:
    """The raw columns of a block, read a term at a time.

    Never several: all levels of a table, filled in, would be many times the table.
    """

    def __init__(self, block: Block) -> None:
        self._x = sparse.csc_array(block.x) if sparse.issparse(block.x) else block.x
        self._terms: dict[str, dict[str | None, int]] = {}  # numbers "", missing None, levels
        for j, term in enumerate(block.terms):
            key = None if term.missing else "" if term.level is None else f"={term.level}"
            self._terms.setdefault(term.column, {})[key] = j

    def _values(self, j: int) -> Floats:
        return np.ravel(to_array(self._x[:, [j]]))

    def levels(self, name: str) -> dict[str, int]:
        """The rows of each level of a column that is there."""
        terms = {key[1:]: j for key, j in self._terms[name].items() if key}
        counts = {level: int(np.count_nonzero(self._values(j))) for level, j in terms.items()}
        return {level: count for level, count in counts.items() if count}

    def numbers(self, name: str) -> Floats:
        """The numbers of a column, NaN where one is missing."""
        terms = self._terms[name]
        values = self._values(terms[""]).astype(float)
        missing = terms.get(None)
        return values if missing is None else np.where(self._values(missing), np.nan, values)


# -------------------------------------------------------------------------------------------------
# What is found.


@dataclass(frozen=True)
class ColumnDrift:
    """One column of new rows: its ``distance`` from training with an interval.

    ``where`` is the value or the level at which the distance is taken. ``outside`` rows are beyond
    the range of training, ``unseen`` are rows of levels that training did not have, ``missing`` of
    ``count`` rows have no value.
    """

    name: str
    count: int
    missing: int
    distance: float
    low: float
    high: float
    where: str = ""
    outside: int = 0
    unseen: Mapping[str, int] = field(default_factory=dict)

    @property
    def drifted(self) -> bool:
        """Whether the difference is more than that of two samples of one distribution."""
        return self.low > 0.0


@dataclass(frozen=True)
class DriftCheck(Shown):
    """New rows against the training rows of a model.

    Attributes
    ----------
    rows : int
        How many new rows there are.
    absent, extra : tuple of str
        Columns that the model needs and the table lacks; columns that it does not use.
    columns : tuple of ColumnDrift
        Every column, the greatest distance first.
    level : float
        The probability with which all intervals hold together.
    extrapolating : int
        Rows beyond the range of training in some column, or of a level that it did not have.
    scores, promised : tuple of Score
        Of rows whose target is known: their scores, and those of the test set of the study.
    target : str
        The target.

    See Also
    --------
    check_drift : Make such a check.
    """

    rows: int
    absent: tuple[str, ...]
    extra: tuple[str, ...]
    columns: tuple[ColumnDrift, ...]
    level: float
    extrapolating: int = 0
    scores: tuple[Score, ...] = ()
    promised: tuple[Score, ...] = ()
    target: str = ""

    @property
    def drifted(self) -> tuple[ColumnDrift, ...]:
        """The columns whose distribution is another one."""
        return tuple(column for column in self.columns if column.drifted)

    @property
    def broken(self) -> tuple[str, ...]:
        """Metrics whose interval lies on the worse side of the interval that was promised."""
        known = {score.metric: score for score in self.promised}
        return tuple(
            score.metric
            for score in self.scores
            if score.metric in known and _is_worse(score, known[score.metric])
        )

    def refuse_without_scores(self) -> None:
        """Refuse a question about scores where no target is known."""
        if not self.scores:
            raise InputError(
                f"there is no score: the table has no values of {self.target!r}.",
                remedy="Give rows with their target, or leave out --min-score and --promise.",
            )

    def _display(self) -> list[Item]:
        return self.items()

    def items(self) -> list[Item]:
        """What there is to see: sentences and tables."""
        rows = "New rows" if self.absent else plural(self.rows, "new row")  # they are not read
        items: list[Item] = [Heading(f"{rows} against the training rows")]
        if self.absent:
            items.append(Sentence(f"Columns that are missing: {_names(self.absent)}.", BAD))
        if self.extra:
            items.append(Sentence(f"Columns that the model does not use: {_names(self.extra)}."))
        if not self.absent:
            items.append(Sentence(self.summary, BAD if self.drifted else GOOD))
        shown = [c for c in self.columns if c.drifted or c.outside or c.unseen] or self.columns[:5]
        if shown:
            heads = ("column", "distance", "interval", "at", "beyond", "unseen", "missing")
            items.append(Grid(heads, [_line(c) for c in shown], frozenset({0, 3, 5})))
        known = {score.metric: score for score in self.promised}
        if self.scores:
            lines = [_score_line(s, known.get(s.metric)) for s in self.scores]
            measured = (f"score of {self.target}", "new rows", "interval", "promised", "interval ")
            items.append(Grid(measured, lines))
            items.append(Sentence(self.verdict, BAD if self.broken else GOOD))
        return items

    @property
    def summary(self) -> str:
        """Drift and extrapolation in a sentence."""
        n = len(self.columns)
        drift = f"{len(self.drifted)} of {plural(n, 'column')} have drifted"
        if not self.drifted:
            drift = f"No drift is found in {plural(n, 'column')}"
        share = 100.0 * self.extrapolating / max(self.rows, 1)
        return (
            f"{drift} (intervals of {100 * self.level:g} % for all columns together). "
            f"{plural(self.extrapolating, 'row')} ({share:.1f} %) beyond the training rows."
        )

    @property
    def verdict(self) -> str:
        """Whether the promise of the study holds."""
        if not self.broken:
            return "No score is worse than was promised by more than chance explains."
        worse = ", ".join(score_info(name).short for name in self.broken)
        return f"Worse than promised: {worse}."


def _is_worse(score: Score, promised: Score) -> bool:
    if score_info(score.metric).higher_is_better:
        return score.high < promised.low
    return score.low > promised.high


def _names(names: Sequence[str]) -> str:
    most = 8  # names that fit into a line or two
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" * (len(names) > most))


def _line(column: ColumnDrift) -> tuple[str, ...]:
    unseen = ", ".join(f"{level} ({count:,})" for level, count in list(column.unseen.items())[:3])
    more = len(column.unseen) - 3
    return (
        f"{'!' if column.drifted else ' '} {column.name}",
        f"{column.distance:.3f}",
        f"{column.low:.3f} to {column.high:.3f}",
        column.where,
        f"{column.outside:,}" if column.outside else "",
        unseen + (f" and {more} more" if more > 0 else ""),
        f"{column.missing:,}" if column.missing else "",
    )


def _score_line(score: Score, promised: Score | None) -> tuple[str, ...]:
    def interval(of: Score) -> str:
        return f"{score_text(of.low, of.metric)} to {score_text(of.high, of.metric)}"

    line = (score_info(score.metric).short, score_text(score.value, score.metric), interval(score))
    if promised is None:
        return (*line, "–", "")
    return (*line, score_text(promised.value, promised.metric), interval(promised))


# -------------------------------------------------------------------------------------------------
# The check.


def check_drift(model: Any, table: Any, *, level: float = 0.95, text: Any = None) -> DriftCheck:
    """Compare new rows with the training rows of a study.

        D = max_v |F(v) − G(v)|      of numbers,      D = max_l |f(l) − g(l)|      of levels

    Parameters
    ----------
    model : str, path-like or Study
        A ``model.sx`` that ``separatrix fit`` wrote, its directory, or a study.
    table : path, data frame or dict of columns
        The new rows. Where they have the target, its scores are compared with the test scores.
    level : float, default=0.95
        Probability with which the intervals of all columns hold together.
    text : TextOptions, default=None
        How values are written, where that is not as in training.

    Returns
    -------
    DriftCheck
        Missing and extra columns, distances, ranges, unseen levels, scores.

    See Also
    --------
    run_study : Studies keep what this needs.
    check_extrapolation : Rows beyond the ranges of training, one by one.

    References
    ----------
    P. Massart, The tight constant in the Dvoretzky–Kiefer–Wolfowitz inequality, Annals of
    Probability 18, 1990; C. Clopper and E. Pearson, Biometrika 26, 1934.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.samples import sample
    >>> path = str(sample("diabetes").path)
    >>> rows = sx.scan(path, target="progression")
    >>> study = sx.run_study(rows, models=["linear"], verbose=False)
    >>> check = sx.check_drift(study, path)
    >>> check.rows, len(check.drifted), check.extrapolating, check.broken
    (442, 0, 3, ())
    """
    from separatrix.rows.sources.new_rows import rows_like

    study, fitted, schema = _study_of(model)
    references = {reference.name: reference for reference in study.references}
    if not references:
        raise InputError(
            "holds no summary of its training rows.",
            file=None if not isinstance(model, str) else model,
            remedy="Fit it again with separatrix fit, from a table that fits into memory.",
        )
    names = _column_names(table)
    absent = tuple(name for name in schema.read_names if name not in names)
    roles = {study.target, schema.weight, schema.group, schema.time}
    extra = tuple(n for n in names if n not in schema.names and n not in roles)
    if absent:
        return DriftCheck(0, absent, extra, (), level, target=study.target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = rows_like(table, schema, unseen="missing", text=text)
        tallies = _tally(rows, schema, references)
    alpha = (1.0 - level) / max(len(references), 1)
    columns = [_compare(references[name], tallies, alpha) for name in schema.names]
    columns.sort(key=lambda column: (-column.low, -column.distance, column.name))
    scores: tuple[Score, ...] = ()
    if fitted is not None and study.target in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = _scores(study, fitted, rows_like(table, schema, target=True, text=text).read())
    return DriftCheck(
        tallies.rows,
        (),
        extra,
        tuple(columns),
        level,
        tallies.beyond,
        scores,
        study.test,
        study.target,
    )


def _study_of(model: Any) -> tuple[Study, Any, Schema]:
    """The study, its fitted model and the schema of its rows."""
    from separatrix.estimators.wrapped import schema_of

    if isinstance(model, Study):
        study, fitted = model, model.model
    else:
        from separatrix.storage import load
        from separatrix.storage.model_file import load_study

        path = Path(model) / MODEL if Path(model).is_dir() else Path(model)
        fitted, study = load(path), load_study(path)
    schema = None if fitted is None else schema_of(fitted)
    if not isinstance(study, Study) or schema is None:
        raise InputError(
            "holds no study of a table.",
            file=str(model) if not isinstance(model, Study) else None,
            remedy="Name a model that separatrix fit wrote.",
        )
    return study, fitted, schema


def _column_names(table: Any) -> list[str]:
    """The names of the columns of a table, before any is read."""
    from separatrix.rows.notations import TextOptions
    from separatrix.rows.sources.frames import as_table
    from separatrix.rows.sources.paths import is_path, open_paths

    if is_path(table):
        return list(open_paths(table, {}, TextOptions(), frozenset()).arrow.names)
    return list(as_table(table).column_names)


@dataclass
class _Tally:
    """Sums over the new rows: by column the rows up to each value, of each level, and beyond."""

    rows: int = 0
    beyond: int = 0
    up_to: dict[str, Floats] = field(default_factory=dict)
    levels: dict[str, Counter[str]] = field(default_factory=dict)
    present: Counter[str] = field(default_factory=Counter)
    outside: Counter[str] = field(default_factory=Counter)
    unseen: dict[str, Counter[str]] = field(default_factory=dict)


def _tally(rows: Any, schema: Schema, references: Mapping[str, ColumnReference]) -> _Tally:
    """One pass over the new rows."""
    total = _Tally()

    def look(decoded: Any) -> tuple[Block, Any]:
        return decoded.block, decoded.unseen

    for block, unseen in rows.each(look):
        total.rows += block.n
        raw, strange = _RawColumns(block), np.zeros(block.n, dtype=bool)
        for column in schema.columns:
            name, reference = column.name, references[column.name]
            if column.kind is Kind.DISCRETE:
                counted = raw.levels(name)
                more = Counter(unseen.get(name, {}))
                total.unseen.setdefault(name, Counter()).update(more)
                total.levels.setdefault(name, Counter()).update(counted)
                total.present[name] += sum(counted.values()) + more.total()
                continue
            x = raw.numbers(name)
            known = x[np.isfinite(x)]
            at = np.searchsorted(np.sort(known), reference.values, side="right").astype(float)
            total.up_to[name] = total.up_to.get(name, np.zeros(len(at))) + at
            total.present[name] += len(known)
            if len(reference.values):
                with np.errstate(invalid="ignore"):
                    out = (x < reference.values[0]) | (x > reference.values[-1])
                total.outside[name] += int(out.sum())
                strange |= out
        total.beyond += int(strange.sum())
    return total


def _compare(reference: ColumnReference, tally: _Tally, alpha: float) -> ColumnDrift:
    """The distance of a column, that of its missing values if that is surely larger."""
    name = reference.name
    n, m = reference.count - reference.missing, tally.present[name]
    missing = tally.rows - m
    unseen = dict(tally.unseen.get(name, Counter()).most_common())
    if reference.kind == str(Kind.DISCRETE):
        counts = tally.levels.get(name, Counter()) + Counter(unseen)
        known = dict(zip(reference.levels, reference.proportions.tolist(), strict=True))
        before = Counter({level: round(share * n) for level, share in known.items()})
        found = _of_levels(before, n, counts, m, alpha / 2.0)
    else:
        found = _of_numbers(reference, tally.up_to[name] / max(m, 1), n, m, alpha / 2.0)
    absent = Counter({MISSING: reference.missing}), Counter({MISSING: missing})
    other = _of_levels(absent[0], reference.count, absent[1], tally.rows, alpha / 2.0)
    if other[1] > found[1]:
        found = other
    return ColumnDrift(
        name, tally.rows, missing, *found, outside=tally.outside[name], unseen=unseen
    )


#: A distance, the ends of its interval, and where it is taken.
Distance = tuple[float, float, float, str]


def _of_numbers(reference: ColumnReference, g: Floats, n: int, m: int, alpha: float) -> Distance:
    """Kolmogorov and Smirnov's distance at the values that are kept."""
    if not n or not m:
        return 0.0, 0.0, 1.0, ""
    f = reference.proportions
    at = int(np.abs(f - g).argmax())
    distance = float(abs(f[at] - g[at]))
    reach = sum(math.sqrt(math.log(4.0 / alpha) / (2.0 * size)) for size in (n, m))
    value = value_text(float(reference.values[at]), reference.display)
    where = f"≤ {value}: {100 * f[at]:.1f} → {100 * g[at]:.1f} %"
    return distance, max(0.0, distance - reach), min(1.0, distance + reach), where


def _of_levels(
    before: Counter[str], n: int, counts: Counter[str], m: int, alpha: float
) -> Distance:
    """The largest difference of a proportion, with intervals that hold for all levels together."""
    levels = sorted({*before, *counts})
    if not n or not m or not levels:
        return 0.0, 0.0, 1.0, ""
    f, g = (
        np.array([counted[level] for level in levels], dtype=float) for counted in (before, counts)
    )
    each = alpha / (2.0 * len(levels))  # two samples, every level
    (f_low, f_high), (g_low, g_high) = _clopper_pearson(f, n, each), _clopper_pearson(g, m, each)
    low = np.maximum(np.maximum(g_low - f_high, f_low - g_high), 0.0).max()
    high = np.maximum(g_high - f_low, f_high - g_low).max()
    at = int(np.abs(f / n - g / m).argmax())
    where = f"{levels[at]}: {100 * f[at] / n:.1f} → {100 * g[at] / m:.1f} %"
    return float(abs(f[at] / n - g[at] / m)), float(low), float(min(high, 1.0)), where


def _clopper_pearson(counts: Floats, n: int, alpha: float) -> tuple[Floats, Floats]:
    """Ends of exact intervals of proportions."""
    from scipy.special import betaincinv

    with np.errstate(invalid="ignore"):
        low = betaincinv(counts, n - counts + 1.0, alpha / 2.0)
        high = betaincinv(counts + 1.0, n - counts, 1.0 - alpha / 2.0)
    return np.where(counts > 0, low, 0.0), np.where(counts < n, high, 1.0)


def _scores(study: Study, model: Any, rows: InMemory) -> tuple[Score, ...]:
    """The scores of rows whose target is known, as those of the test set were computed."""
    from separatrix.study.class_scores import scores_on_test
    from separatrix.study.design import truth_of
    from separatrix.study.measure import regression_scores
    from separatrix.study.result import Predictions

    if not len(rows):
        return ()
    truth, predicted = truth_of(rows), model.predict(rows)
    if not study.classes:
        return regression_scores(truth, np.asarray(predicted, dtype=float), None, study.seed)
    classes = np.array(study.classes)
    p = model.predict_proba(rows) if hasattr(model, "predict_proba") else None
    answers = classes[p.argmax(axis=1)] if p is not None else np.array(predicted).astype(str)
    test = Predictions(None, truth, answers, None, None, p)
    return scores_on_test(test, classes, None)


def drift_document(found: DriftCheck) -> dict[str, Any]:
    """A check as JSON values."""
    from separatrix.study.document import plain

    columns = [{**plain(column), "drifted": column.drifted} for column in found.columns]
    return {
        "rows": found.rows,
        "absent": list(found.absent),
        "extra": list(found.extra),
        "level": found.level,
        "columns": columns,
        "extrapolating": found.extrapolating,
        "target": found.target,
        "scores": plain(found.scores),
        "promised": plain(found.promised),
        "worse_than_promised": list(found.broken),
    }
