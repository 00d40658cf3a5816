"""``separatrix fit``: compare models on a table, choose one, score it on a held-out test set."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from separatrix.cli.failure import GateFailed
from separatrix.cli.flags import study_with_flags
from separatrix.cli.ids import Ids, copied_columns
from separatrix.cli.options import (
    json_option,
    reading_options,
    scanned,
    split_options,
    stem_of,
    table_at,
)
from separatrix.cli.output import print_json, progress
from separatrix.messages import InputError

#: Options of the study; the others say how the table is read.
STUDY_OPTIONS = ("task", "metric", "reject", "seed", "test", "folds")


@click.command(short_help="Compare models on a table and store the best.")
@click.argument("table")
@click.option("--target", metavar="COLUMN", help="The column to predict.")
@click.option("--out", type=click.Path(path_type=Path), help="Directory for the results.")
@click.option("--models", metavar="NAME,NAME", help="Compare only these (and the baseline).")
@click.option(
    "--task", metavar="TASK", help="regression or classification; else inferred from the target."
)
@click.option(
    "--metric", metavar="NAME", help="Choose among classifiers by log_loss (default) or error."
)
@click.option(
    "--costs",
    metavar="COSTS",
    help="Misclassification costs: TRUTH:ANSWER=COST,… or a .csv or .json file. Default: 1 each.",
)
@click.option(
    "--reject",
    type=float,
    metavar="COST",
    help="Let the model abstain ('reject') at this cost, where an error costs 1.",
)
@click.option(
    "--min-score",
    "gates",
    multiple=True,
    metavar="METRIC=VALUE",
    help="Fail (exit code 1) if the test score is worse. Repeatable.",
)
@split_options
@reading_options
@json_option
@click.pass_context
def fit(
    context: click.Context,
    /,
    table: str,
    target: str | None,
    out: Path | None,
    models: str | None,
    costs: str | None,
    gates: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Cross-validate models on TABLE, choose one, score it once on a held-out test set.

    TABLE is a CSV or Parquet file, a glob, a .moments file, sample:NAME, or - for standard input.

    \b
    Try:
      separatrix fit sample:diabetes --target progression
      separatrix fit sample:wine --target cultivar --reject 0.1
      separatrix fit sample:houses --target price --min-score r2=0.8
    """
    from separatrix.cli.costs import parse_costs
    from separatrix.cli.gates import check, parse
    from separatrix.cli.results import ready, write_all

    limits, names, parsed = parse(gates), _names(models), parse_costs(costs)
    place = ready(out if out is not None else Path(f"{stem_of(table)}-separatrix"))
    study_options = {name: options.pop(name) for name in STUDY_OPTIONS}
    source = _opened(context, table, target, options)
    from separatrix.study.run import run_study
    from separatrix.threads import one_blas_thread

    # one BLAS thread: how it splits a product changes last digits, and rarely saves time here
    with one_blas_thread(), progress(quiet=as_json) as report:
        try:
            study = run_study(
                source,
                models=names,
                costs=parsed,
                progress=report,
                source=Path(table).name,
                command=_again(context),
                **study_options,
            )
        except InputError as problem:
            raise placed(problem, table) from problem
        study = study_with_flags(study)
        checked = check(limits, study)
        if report is not None:
            report("writing the report", 0, 1)
        document = write_all(study, place, _ids(source, target))
    failed = [gate for gate in checked if not gate["passed"]]
    if as_json:
        print_json({**document, "directory": str(place), "gates": checked})
        context.exit(1 if failed else 0)
    from separatrix.cli.fit_summary import print_summary

    print_summary(study, place, _in_python(context, table, target))
    if failed:
        raise GateFailed("; ".join(gate["message"] for gate in failed))


def _opened(context: click.Context, table: str, target: str | None, reading: dict[str, Any]) -> Any:
    """Rows of a table, or the moments in a file."""
    if table.endswith(".moments"):
        return _moments(context, table, target, reading)
    if target is None:
        raise _no_target(table, reading)
    return scanned(table, target, **reading)


def _moments(
    context: click.Context, table: str, target: str | None, reading: dict[str, Any]
) -> Any:
    """A file of moments, which contains its target and its options."""
    from separatrix.storage import load_moments

    stored = load_moments(table)
    split = [n for n in ("seed", "test", "folds") if context.params[n] != getattr(stored.parts, n)]
    given = [name for name in (*split, *reading) if was_given(context, name)]
    if given:
        raise InputError(
            f"--{given[0].removesuffix('s') if given[0] == 'kinds' else given[0]} was fixed when "
            "the table was summarized.",
            file=table,
            remedy="Leave it out, or summarize the table again.",
        )
    if context.params["task"] not in (None, "regression"):
        raise InputError(
            "moments are enough for regression alone.", file=table, remedy="Fit the table itself."
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


def placed(problem: InputError, table: str) -> InputError:
    """The error with the name of the table, if its text can follow one."""
    if problem.file is not None or not (problem.what[0].islower() or problem.what[0].isdigit()):
        return problem
    return InputError(
        problem.what, file=table, row=problem.row, column=problem.column, remedy=problem.remedy
    )


def _ids(source: Any, target: str | None) -> Ids:
    """The ids of a table's rows: of one file, since rows are counted anew in each of several."""
    from separatrix.rows.sources.stream import TableRows

    table: Any = source.source if isinstance(source, TableRows) else None
    one = table is not None and len(table.paths) == 1
    names = [name for name in table.arrow.names if name != target] if one else []
    return Ids(table, copied_columns(names, ()))


def _no_target(table: str, reading: dict[str, Any]) -> InputError:
    """Without a target, at least the columns to choose from are shown."""
    names = scanned(table, None, **reading).schema.names
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return InputError(
        "no target is given.",
        file=table,
        remedy=f"Add --target COLUMN, one of: {shown}.",
    )


def _again(context: click.Context) -> str:
    """The command that gives the same result, without what does not change it."""
    words = ["separatrix", "fit", str(context.params["table"])]
    for option in context.command.params:
        value = context.params.get(option.name or "")
        if not isinstance(option, click.Option) or not was_given(context, option.name or ""):
            continue
        if option.name in ("out", "as_json", "gates"):
            continue
        for item in value if isinstance(value, tuple) else (value,):
            words += [option.opts[0], str(item)]
    return shlex.join(words)


def _in_python(context: click.Context, table: str, target: str | None) -> str:
    """The same thing in Python, to be pasted."""
    from separatrix.cli.costs import parse_costs

    given = context.params
    if table.endswith(".moments"):
        return (
            "from separatrix.storage import load_moments\n"
            "from separatrix.study import run_study\n"
            f"study = run_study(load_moments({table!r}))"
        )
    scan = [repr(table_at(table)), f"target={target!r}"]
    scan += [
        f"{name}={given[name]!r}"
        for name in ("weight", "missing", "unseen")
        if was_given(context, name)
    ]
    if given["kinds"]:
        pairs = (text.rpartition("=") for text in given["kinds"])
        scan.append(f"kinds={ ({column: kind for column, _, kind in pairs})!r}")
    study = [f"{n}={given[n]!r}" for n in STUDY_OPTIONS if was_given(context, n)]
    if given["costs"]:
        study.append(f"costs={parse_costs(given['costs'])!r}")
    if given["models"]:
        study.append(f"models={_names(given['models'])!r}")
    words = ", ".join([f"sx.scan({', '.join(scan)})", *study])
    return f"import separatrix as sx\nstudy = sx.run_study({words})"


def was_given(context: click.Context, name: str) -> bool:
    """Whether an option was typed."""
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
