"""``separatrix fit`` and ``curve``: compare models on a table, and say what would help."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from separatrix.cli import options, output, places
from separatrix.cli.failure import GateFailed, Interrupted
from separatrix.cli.ids import Ids, choose_copied
from separatrix.cli.invocation import Repeatable, write_invocation
from separatrix.cli.progress import Leaderboard, Silent, progress
from separatrix.messages import InputError, did_you_mean

if TYPE_CHECKING:
    from separatrix.study.result import Score, Study

#: Options of the study; the others say how the table is read.
STUDY_OPTIONS = (
    *("task", "metric", "goal", "effort", "reference"),
    *("reject", "level", "seed", "test", "folds", "repeats", "nested"),
)


@click.command(cls=Repeatable, short_help="Compare models on a table and store the best.")
@click.argument("table")
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="COLUMN",
    help="The column to predict. Repeatable: a study of each.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Directory for the results.")
@click.option(
    "--models",
    metavar="NAME,NAME",
    help="Compare only these, or classes by name (and the baseline).",
)
@click.option(
    "--task", metavar="TASK", help="regression or classification; else inferred from the target."
)
@click.option(
    "--metric",
    metavar="NAME",
    help="What decides: log_loss (default), error, auc, f1, balanced_error or cost for classes; "
    "rmse (default), mae or r2 for numbers.",
)
@click.option(
    "--goal",
    type=click.Choice(["simplicity", "accuracy"]),
    default="simplicity",
    show_default=True,
    help="The simplest model within one standard error of the best, or the best itself and its "
    "average with others.",
)
@click.option(
    "--effort",
    type=click.Choice(["quick", "normal", "thorough"]),
    default="normal",
    show_default=True,
    help="Limit on the work of every model, counted in operations.",
)
@click.option(
    "--reference/--no-reference",
    default=None,
    help="Show gradient-boosted trees beside the models, which are never chosen. "
    "Default: unless --models are named.",
)
@click.option(
    "--costs",
    metavar="COSTS",
    help="Misclassification costs: TRUTH:ANSWER=COST,… or a .csv or .json file. Default: 1 each.",
)
@click.option(
    "--class-weight",
    metavar="WEIGHTS",
    help="What training rows of each class count for: balanced, or LEVEL=WEIGHT,…",
)
@click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="MODEL.PARAMETER=VALUE",
    help="Fix a hyperparameter, or narrow its search (ridge.alphas=0.1,1,10). Repeatable.",
)
@click.option(
    "--reject",
    type=float,
    metavar="COST",
    help="Let the model abstain ('reject') at this cost, where an error costs 1.",
)
@options.level_option
@click.option(
    "--min-score",
    "gates",
    multiple=True,
    metavar="METRIC=VALUE",
    help="Fail (exit code 1) if the test score is worse. Repeatable.",
)
@options.test_options
@options.validation_options
@options.reading_options
@options.cluster_option
@options.json_option
@click.pass_context
def fit(
    context: click.Context,
    /,
    table: str,
    targets: tuple[str, ...],
    out: Path | None,
    models: str | None,
    costs: str | None,
    class_weight: str | None,
    parameters: tuple[str, ...],
    gates: tuple[str, ...],
    as_json: bool,
    **typed: Any,
) -> None:
    """Cross-validate models on TABLE, choose one, score it once on a held-out test set.

    TABLE is a file (CSV, Parquet, Arrow, JSON lines, Excel; text may be compressed), a glob, a
    folder, FILE::NAME (a sheet, a table or query of SQLite or DuckDB, a member of a zip), a
    .moments file, sample:NAME, or - for standard input; or the study.toml of an earlier study,
    whose options it repeats.

    \b
    Try:
      separatrix fit sample:diabetes --target progression
      separatrix fit sample:wine --target cultivar --reject 0.1
      separatrix fit sample:houses --target price --min-score r2=0.8
    """

    limits, names, parsed = parse_gates(gates), _names(models), parse_costs(costs)
    weights, fixed = options.parse_class_weight(class_weight), options.parse_parameters(parameters)
    from separatrix.study.options import check_names

    check_names(typed["task"], names, typed["metric"])
    place = places.ready(out if out is not None else Path(f"{options.stem_of(table)}-separatrix"))
    if len(targets) > 1:
        from separatrix.cli.targets import fit_targets

        fit_targets(context, table, targets, place, as_json)
        return
    target = context.params["targets"] = targets[0] if targets else None
    study_options = {name: typed.pop(name) for name in STUDY_OPTIONS}
    with _progress(as_json) as report:
        source = _open_table(context, table, target, typed)
        from separatrix.cli.results import write_all
        from separatrix.study.run import run_study
        from separatrix.threads import one_blas_thread

        # one BLAS thread: how it splits a product changes last digits, and rarely saves time here
        with one_blas_thread():
            try:
                study = run_study(
                    source,
                    models=names,
                    parameters=fixed,
                    costs=parsed,
                    class_weight=weights,
                    progress=report,
                    source=options.name_of(table),
                    command=options.command_line(context),
                    **study_options,
                )
            except InputError as problem:
                raise options.with_file(problem, table) from problem
            study = replace(
                study,
                messages=(
                    *map(options.with_flags, study.messages),
                    *options.describe_travel(source),
                ),
                warnings=tuple(map(options.with_flags, study.warnings)),
            )
            checked = check_gates(limits, study)
            report("writing the report", 0, 1)
            ids = _ids(source, target, typed["ids"])
            document = write_all(study, place, ids, write_invocation(context))
    failed = [gate for gate in checked if not gate["passed"]]
    if as_json:
        about = {"directory": str(place), "gates": checked, **options.travel_document(source)}
        output.print_json({**document, **about})
        context.exit(1 if failed else 0)
    from separatrix.cli.results import print_summary

    print_summary(study, place, _in_python(context, table, target), report.announced)
    if failed:
        raise GateFailed("; ".join(gate["message"] for gate in failed))


@contextmanager
def _progress(as_json: bool) -> Iterator[Silent]:
    """Progress of a study; interrupted after the comparison, it still offers the leaderboard."""
    report = Silent()
    try:
        with progress(quiet=as_json) as report:
            yield report
    except Interrupted:
        raise
    except KeyboardInterrupt as end:
        if report.leaderboard is None:
            raise
        raise _refuse_to_store(report.leaderboard, as_json) from end


def _refuse_to_store(leaderboard: Leaderboard, as_json: bool) -> Interrupted:
    """The comparison is done and its leaderboard printed; there is no model."""
    from separatrix.cli.results import print_leaderboard
    from separatrix.study.document import plain
    from separatrix.study.summary import chosen

    if not as_json:
        with suppress(OSError):  # the terminal may be gone
            print_leaderboard(leaderboard.entries, leaderboard.winner)
            output.print_lines([chosen(leaderboard.winner, leaderboard.reason)])
    known = {
        "leaderboard": plain(leaderboard.entries),
        "winner": leaderboard.winner,
        "reason": leaderboard.reason,
    }
    return Interrupted("Interrupted after the comparison; no model was stored.", known)


def _open_table(
    context: click.Context, table: str, target: str | None, reading: dict[str, Any]
) -> Any:
    """Rows of a table, or the moments in a file."""
    if table.endswith(".moments"):
        return _moments(context, table, target, reading)
    if target is None:
        raise _no_target(table, reading)
    return options.scan_table(table, target, **reading)


def _moments(
    context: click.Context, table: str, target: str | None, reading: dict[str, Any]
) -> Any:
    """A file of moments, which contains its target and its options."""
    from separatrix.storage import load_moments

    stored = load_moments(table)
    split = [n for n in ("seed", "test", "folds") if context.params[n] != getattr(stored.parts, n)]
    given = [name for name in (*split, *reading) if options.was_given(context, name)]
    if given:
        flag = given[0].removesuffix("s") if given[0] in ("kinds", "ids") else given[0]
        raise InputError(
            f"--{flag} was fixed when the table was summarized.",
            file=table,
            remedy="Leave it out, or summarize the table again.",
        )
    task = "regression" if stored.by_class is None else "classification"
    if context.params["task"] not in (None, task):
        raise InputError(
            f"these are moments for {task}.",
            file=table,
            remedy="Leave --task out, or summarize the table with another --kind of its target.",
        )
    known = [column.name for column in stored.schema.targets]
    if target is not None and target not in known:
        raise InputError(
            f"the target of these moments is {known[0]!r}, not {target!r}.",
            file=table,
            remedy="Leave --target out, or summarize the table again.",
        )
    return stored


def _names(models: str | None) -> list[str] | None:
    """``"linear,ridge"`` as a list; None leaves the choice to the study."""
    if models is None:
        return None
    names = [name.strip() for name in models.split(",") if name.strip()]
    if not names:
        raise InputError("--models names no model.", remedy="Write it as --models linear,ridge.")
    return names


def _ids(source: Any, target: str | None, requested: tuple[str, ...]) -> Ids:
    """The ids of a table's rows: of one file, since rows are counted anew in each of several."""
    from separatrix.rows.sources.stream import TableRows

    table: Any = source.source if isinstance(source, TableRows) else None
    single_path = table is not None and len(table.paths) == 1
    names = [name for name in table.arrow.names if name != target] if single_path else []
    return Ids(table, choose_copied(names, requested if single_path else (), option="--id"))


def _no_target(table: str, reading: dict[str, Any]) -> InputError:
    """Without a target, at least the columns to choose from are shown."""
    names = options.scan_table(table, None, **reading).schema.names
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return InputError(
        "no target is given.",
        file=table,
        remedy=f"Add --target COLUMN, one of: {shown}.",
    )


def _in_python(context: click.Context, table: str, target: str | None) -> str:
    """The same thing in Python, to be pasted."""

    given = context.params
    if table.endswith(".moments"):
        return (
            "from separatrix.storage import load_moments\n"
            "from separatrix.study import run_study\n"
            f"study = run_study(load_moments({table!r}))"
        )
    study = [f"{n}={given[n]!r}" for n in STUDY_OPTIONS if options.was_given(context, n)]
    if given["costs"]:
        study.append(f"costs={parse_costs(given['costs'])!r}")
    for name, parse in (
        ("class_weight", options.parse_class_weight),
        ("parameters", options.parse_parameters),
    ):
        if given[name]:
            study.append(f"{name}={parse(given[name])!r}")
    if given["models"]:
        study.append(f"models={_names(given['models'])!r}")
    return options.python_code(context, "run_study", study, target=target)


# -- gates -----------------------------------------------------------------------------------------

#: Metrics of which smaller is better: the gate is an upper limit.
ERRORS = {"rmse", "mae", "error", "balanced_error", "log_loss", "cost", "risk"}
KNOWN = (*sorted(ERRORS), "r2", "accuracy", "auc", "f1", "coverage")


def parse_gates(given: tuple[str, ...]) -> dict[str, float]:
    """``("r2=0.8",)`` as a mapping of metric to value."""
    limits = {}
    for text in given:
        metric, equals, number = text.partition("=")
        try:
            limit = float(number)
        except ValueError:
            limit = math.nan
        limits[metric.strip().lower()] = limit
        if not equals or not math.isfinite(limit):
            raise InputError(
                f"--min-score {text!r} is not METRIC=VALUE.",
                remedy="Write it as --min-score r2=0.8.",
            )
        if metric.strip().lower() not in KNOWN:
            raise InputError(
                f"--min-score names {metric!r}, which is not a metric.",
                remedy=did_you_mean(metric, KNOWN),
            )
    return limits


def check_gates(limits: dict[str, float], study: Study) -> list[dict[str, Any]]:
    """Each limit against the test score; a metric that the study does not have is refused."""
    return compare_with_limits(limits, study.test, "the test set")


def compare_with_limits(
    limits: dict[str, float], measured: Sequence[Score], where: str
) -> list[dict[str, Any]]:
    """Each limit against the score of some rows."""
    scores = {score.metric: score.value for score in measured}
    checked = []
    for metric, limit in limits.items():
        if metric not in scores:
            raise InputError(
                f"--min-score names {metric!r}, which is not measured here.",
                remedy=did_you_mean(metric, list(scores)),
            )
        value = scores[metric]
        passed = value <= limit if metric in ERRORS else value >= limit
        bound = "at most" if metric in ERRORS else "at least"
        message = f"{metric} is {value:.4g} on {where}; {bound} {limit:g} is required"
        checked.append(
            {"metric": metric, "limit": limit, "value": value, "passed": passed, "message": message}
        )
    return checked


# -------------------------------------------------------------------------------------------------
# ``--costs``: misclassification costs, inline or from a small file.
#
#     "cat:dog=5,dog:cat=1"            truth:answer=cost, separated by commas
#     costs.json                       {"cat": {"dog": 5}, "dog": {"cat": 1}}
#     costs.csv                        a line for each truth, a column for each answer
#
# What is not named costs 1 if it is wrong and 0 if it is right. "reject" may stand among the
# answers.


FORM = "Write it as --costs TRUTH:ANSWER=COST,… or name a .csv or .json file."

Mapping = dict[str, dict[str, float]]


def parse_costs(text: str | None) -> Mapping | None:
    """The option as {truth: {answer: cost}}."""
    if text is None:
        return None
    path = Path(text)
    if path.suffix.lower() not in (".json", ".csv") and not path.is_file():
        return _inline(text)
    try:
        content = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(
            "does not exist (given as --costs).", file=text, remedy="Check the path."
        ) from None
    except UnicodeDecodeError:
        raise InputError("is not text in UTF-8.", file=text, remedy=FORM) from None
    costs = _of_json(content, text) if _is_json(path, content) else _of_csv(content, text)
    if not any(costs.values()):
        raise InputError("names no cost.", file=text, remedy=FORM)
    return costs


def _is_json(path: Path, content: str) -> bool:
    return path.suffix.lower() == ".json" or content.lstrip().startswith("{")


def _inline(text: str) -> Mapping:
    costs: Mapping = {}
    for piece in filter(None, (part.strip() for part in text.split(","))):
        pair, equals, number = piece.rpartition("=")
        truth, colon, answer = (word.strip() for word in pair.partition(":"))
        if not equals or not colon or not truth or not answer:
            raise InputError(f"--costs {piece!r} is not TRUTH:ANSWER=COST.", remedy=FORM)
        if ":" in answer:
            raise InputError(
                f"--costs {piece!r} has more than one colon.",
                remedy="Give names that contain one in a .csv or .json file.",
            )
        _put(costs, truth, answer, _number(number, f"--costs {piece!r}: "), None)
    if not costs:
        raise InputError("--costs names no cost.", remedy=FORM)
    return costs


def _of_json(content: str, file: str) -> Mapping:
    try:
        given = json.loads(content)
    except json.JSONDecodeError as problem:
        raise InputError(
            f"is not JSON: {problem.msg}.", file=file, row=problem.lineno, remedy=FORM
        ) from problem
    nested = isinstance(given, dict) and all(isinstance(v, dict) for v in given.values())
    if not nested:
        raise InputError(
            "contains no costs.", file=file, remedy='Write it as {"truth": {"answer": cost}}.'
        )
    costs: Mapping = {}
    for truth, answers in given.items():
        for answer, cost in answers.items():
            _put(costs, truth, answer, _number(cost, f"{truth!r} for {answer!r}: ", file), file)
    return costs


def _of_csv(content: str, file: str) -> Mapping:
    lines = [line for line in csv.reader(content.splitlines()) if any(c.strip() for c in line)]
    if len(lines) < 2 or len(lines[0]) < 2:
        raise InputError(
            "contains no table of costs.",
            file=file,
            remedy="Give a line for each truth and a column for each answer, with names on both.",
        )
    answers = [name.strip() for name in lines[0][1:]]
    costs: Mapping = {}
    for number, line in enumerate(lines[1:], start=1):
        if len(line) != len(answers) + 1:
            raise InputError(
                f"{len(line)} values for {len(answers) + 1} columns.", file=file, row=number
            )
        for answer, cell in zip(answers, line[1:], strict=True):
            if cell.strip():
                _put(costs, line[0].strip(), answer, _number(cell, "", file, number), file)
    return costs


def _put(costs: Mapping, truth: str, answer: str, cost: float, file: str | None) -> None:
    row = costs.setdefault(truth, {})
    if answer in row:
        raise InputError(
            f"the cost of predicting {answer!r} for {truth!r} is given twice.",
            file=file,
            remedy="Leave one of them out.",
        )
    row[answer] = cost


def _number(given: Any, where: str, file: str | None = None, row: int | None = None) -> float:
    try:
        value = math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f"{where}{given!r} is not a cost.", file=file, row=row, remedy="Give a finite number."
        )
    return value


# -------------------------------------------------------------------------------------------------
# ``separatrix curve``: learning curves of a table, and what would help.


@click.command(short_help="Say whether more rows, columns or flexibility would help.")
@click.argument("table")
@click.option("--target", metavar="COLUMN", required=True, help="The column to predict.")
@click.option(
    "--task",
    type=click.Choice(["regression", "classification"]),
    help="Numbers or classes; else inferred from the target.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Directory for the results.")
@options.weight_option
@options.group_option
@click.option(
    "--id", "ids", multiple=True, metavar="COLUMN", help="A column that names rows. Repeatable."
)
@options.folds_option
@options.seed_option
@options.column_options
@options.json_option
@click.pass_context
def curve(
    context: click.Context,
    /,
    table: str,
    target: str,
    task: str | None,
    out: Path | None,
    weight: str | None,
    group: str | None,
    ids: tuple[str, ...],
    folds: int,
    seed: int,
    as_json: bool,
    **reading: Any,
) -> None:
    """Fit models of growing flexibility to growing parts of TABLE, and say what would help:
    more rows, more columns, or a more flexible model.

    TABLE is a file, a glob, a folder, FILE::NAME (as for fit), sample:NAME, or - for standard
    input.

    \b
    Try:
      separatrix curve sample:diabetes --target progression
      separatrix curve sample:wine --target cultivar --folds 10
      separatrix curve sample:houses --target price --json
    """
    from separatrix.cli.results import print_curves, write_curves

    place = places.ready(out if out is not None else Path(f"{options.stem_of(table)}-curve"))
    rows = options.scan_table(table, target, weight=weight, group=group, ids=ids, **reading)
    from separatrix.study.curves import run_curve

    with progress(quiet=as_json) as report:
        try:
            study = run_curve(
                rows,
                task=task,
                folds=folds,
                seed=seed,
                progress=report,
                source=table if table.startswith("sample:") else options.name_of(table),
                command=options.command_line(context),
            )
        except InputError as problem:
            raise options.with_file(problem, table) from problem
        study = replace(study, messages=tuple(map(options.with_flags, study.messages)))
        document = write_curves(study, place)
    if as_json:
        output.print_json({**document, "directory": str(place)})
        return
    given = [n for n in ("task", "folds", "seed") if options.was_given(context, n)]
    arguments = [f"{name}={context.params[name]!r}" for name in given]
    python = options.python_code(context, "run_curve", arguments, target=target)
    print_curves(study, place, python, report.announced)
