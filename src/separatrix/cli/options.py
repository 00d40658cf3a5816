"""Options and arguments that several commands share, and parameters of Python as options.

Messages and errors of the library speak of parameters: ``task='regression'``, or `` `seed` ``.
:func:`with_flags` turns them into ``--task regression`` and ``--seed``.
"""

from __future__ import annotations

import ast
import csv
import re
import shlex
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import click

from separatrix.cli.ids import ALL
from separatrix.messages import InputError

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document instead of text."
)


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, in this order in the help."""
    return lambda command: reduce(lambda inner, option: option(inner), reversed(options), command)


#: How values and files are written, where that is not recognized rightly.
text_options = together(
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="Decimal separator of numbers; else recognized column by column.",
    ),
    click.option(
        "--thousands",
        metavar="SIGN",
        help="Thousands separator: a comma, point, space or apostrophe; '' for none.",
    ),
    click.option(
        "--dates",
        type=click.Choice(["day-first", "month-first", "year-first"]),
        help="Order of dates; else recognized column by column.",
    ),
    click.option(
        "--na",
        multiple=True,
        metavar="TEXT",
        help="This stands for a missing value, instead of what is recognized. Repeatable.",
    ),
    click.option("--encoding", metavar="NAME", help="Encoding of text files, such as cp1252."),
    click.option("--delimiter", metavar="SIGN", help="Separator of values in text files."),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line of text files names the columns.",
    ),
    click.option(
        "--strict",
        is_flag=True,
        help="Refuse any text among numbers or dates, instead of reading a few as missing.",
    ),
    click.option(
        "--limit",
        "limits",
        multiple=True,
        metavar="NAME=NUMBER",
        help="Of a query or workbook: seconds (60), rows (1e8) or bytes (2e9) it may take; "
        "inf for none. Repeatable.",
    ),
)

#: How columns are read: kinds, missing values, unknown levels; how they are written.
column_options = together(
    click.option(
        "--kind",
        "kinds",
        multiple=True,
        metavar="COLUMN=KIND",
        help="Read a column as numeric, boolean, discrete, or ignore it. Repeatable.",
    ),
    click.option(
        "--columns",
        multiple=True,
        metavar="NAME,NAME",
        help="Use these columns alone, by name or pattern ('price_*'). Repeatable.",
    ),
    click.option(
        "--drop",
        multiple=True,
        metavar="NAME,NAME",
        help="Do not use these columns, by name or pattern. Repeatable.",
    ),
    click.option(
        "--missing",
        type=click.Choice(["mean", "drop", "regress", "indicator", "compare"]),
        default="compare",
        show_default=True,
        help="How missing values are imputed.",
    ),
    click.option(
        "--unseen",
        type=click.Choice(["missing", "zeros", "error"]),
        default="missing",
        show_default=True,
        help="A level that is not in the training rows: treat it as missing, encode it as zeros, "
        "or refuse it.",
    ),
    text_options,
)

#: Parameters of ``scan`` that options of the same name give.
WRITTEN = (
    "decimal",
    "thousands",
    "dates",
    "na",
    "encoding",
    "delimiter",
    "header",
    "strict",
    "limits",
)

weight_option = click.option(
    "--weight", metavar="COLUMN", help="Column with the weight of each row."
)
group_option = click.option(
    "--group",
    metavar="COLUMN",
    help="Keep rows of one group (a patient, say) in one part; the column is not a feature.",
)

#: How a table is read: the weight column, which columns say what binds rows together and which only
#: tell them apart, and all columns.
reading_options = together(
    weight_option,
    group_option,
    click.option(
        "--time",
        metavar="COLUMN",
        help="Test on the last rows by this column, and validate on rows after the training rows.",
    ),
    click.option(
        "--id",
        "ids",
        multiple=True,
        metavar="COLUMN",
        help="A column that names rows: no feature, but copied beside predictions. Repeatable.",
    ),
    column_options,
)


def keep_option(beside: str) -> Callable[[F], F]:
    """``--keep``, for columns that are copied ``beside`` what is written; all without a name."""
    return click.option(
        "--keep",
        multiple=True,
        is_flag=False,
        flag_value=ALL,
        metavar="[COLUMN]",
        help=f"Copy this column beside the {beside}; without a name, every column. Repeatable.",
    )


def port_option(default: int) -> Callable[[F], F]:
    """``--port``, for what is served to this computer alone."""
    return click.option(
        "--port",
        type=click.IntRange(0, 65_535),
        default=default,
        show_default=str(default) if default else "any that is free",
        help="The port of 127.0.0.1 that is listened to; 0 for any that is free.",
    )


level_option = click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    metavar="LEVEL",
    help="Probability of the target between the columns lower and upper, of models that have them.",
)


#: What a stored model does with levels that it has not seen.
unseen_option = click.option(
    "--unseen",
    type=click.Choice(["missing", "zeros", "error"]),
    help="A level that training did not have; else as the model was fitted (missing).",
)

#: Three columns are named where their number is not: more are hardly read beside a prediction.
explain_option = click.option(
    "--explain",
    "effects",
    type=click.IntRange(1, 50),
    is_flag=False,
    flag_value="3",
    metavar="[K]",
    help="Add the K columns with the largest effects on each prediction, and these (3).",
)


def kinds_of(given: tuple[str, ...]) -> dict[str, str]:
    """``("zip=discrete",)`` as a mapping; a column's name may contain ``=`` itself."""
    kinds = {}
    for text in given:
        column, equals, kind = text.rpartition("=")  # the column may have no name
        if not equals or not kind:
            raise InputError(
                f"--kind {text!r} has no kind.", remedy="Write it as --kind COLUMN=discrete."
            )
        kinds[column] = kind
    return kinds


def names_of(given: tuple[str, ...]) -> list[str]:
    """``("a,b", "c")`` as a list; a name with a comma is quoted, as in CSV."""
    lines = csv.reader(given, skipinitialspace=True)
    return [name for line in lines for name in map(str.strip, line) if name]


def table_at(text: str) -> str:
    """The path behind a table argument: ``sample:NAME`` is a built-in table, the rest is itself."""
    from separatrix.samples import PREFIX, sample

    return str(sample(text.removeprefix(PREFIX)).path) if text.startswith(PREFIX) else text


def stem_of(text: str) -> str:
    """A short name for a table, used to name results."""
    from separatrix.samples import PREFIX

    if text == "-":
        return "standard-input"
    file, _, inside = text.removeprefix(PREFIX).partition("::")
    parts = [file] if _is_query(inside) else [file, inside]
    stems = [Path(part).name.split(".")[0] for part in parts]
    plain = ["".join(c for c in stem if c.isalnum() or c in "-_") for stem in stems]
    return "-".join(filter(None, plain)) or "table"


def name_of(text: str) -> str:
    """The name of a table in a report: its file, and what is meant inside of it."""
    file, separator, inside = text.partition("::")
    return f"{Path(file).name}{separator}{inside}"


def _is_query(inside: str) -> bool:
    return " " in inside.strip() or "\n" in inside.strip()


def scan_table(table: str, target: str | None, **reading: Any) -> Any:
    """The rows of a table argument, as the options of its command say."""
    from separatrix.rows.scan import scan

    return scan(
        table_at(table),
        target=target,
        missing=reading["missing"],
        unseen=reading["unseen"],
        kinds=kinds_of(reading["kinds"]),
        columns=names_of(reading["columns"]) or None,
        drop=names_of(reading["drop"]),
        id=reading.get("ids", ()),
        weight=reading["weight"],
        group=reading.get("group"),
        time=reading.get("time"),
        cluster=reading.get("cluster"),
        **as_written(reading),
    )


def as_written(options: dict[str, Any]) -> dict[str, Any]:
    """How values and files are written, by the parameters of ``scan``; None if not typed."""
    named = {"\\t": "\t", "tab": "\t"}
    written = {name: options.get(name) for name in WRITTEN}
    written["delimiter"] = named.get(written["delimiter"] or "", written["delimiter"])
    written["na"] = written["na"] or None
    written["limits"] = limits_of(written["limits"] or ()) or None
    return written


def limits_of(given: tuple[str, ...]) -> dict[str, float]:
    """``("seconds=600",)`` as a mapping."""
    limits = {}
    for text in given:
        name, _, number = text.partition("=")
        try:
            limits[name] = float(number)
        except ValueError:
            raise InputError(
                f"--limit {text!r} has no number.", remedy="Write it as --limit seconds=600."
            ) from None
    return limits


def with_file(problem: InputError, table: str) -> InputError:
    """The error with the name of the table, if its text can follow one."""
    if problem.file is not None or not (problem.what[0].islower() or problem.what[0].isdigit()):
        return problem
    return InputError(
        problem.what, file=table, row=problem.row, column=problem.column, remedy=problem.remedy
    )


def was_given(context: click.Context, name: str) -> bool:
    """Whether an option was typed."""
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


#: Options that do not change the result.
UNSAID = ("out", "as_json", "gates")


def command_line(context: click.Context) -> str:
    """The command that gives the same result, without options that do not change it."""
    words = ["separatrix", str(context.info_name), str(context.params["table"])]
    for option in context.command.params:
        name = option.name or ""
        if not isinstance(option, click.Option) or not was_given(context, name):
            continue
        if name in UNSAID:
            continue
        value = context.params[name]
        flag = option.secondary_opts[0] if value is False else option.opts[0]
        for item in value if isinstance(value, tuple) else (value,):
            words += [flag] if option.is_flag else [flag, str(item)]
    return shlex.join(words)


def python_code(
    context: click.Context,
    function: str,
    arguments: Sequence[str],
    *,
    target: str | None = None,
    ignored: Sequence[str] = (),
) -> str:
    """The call of ``function`` in Python on the table of the command, to be pasted."""
    from separatrix.samples import PREFIX

    given = context.params
    lines, table = ["import separatrix as sx"], repr(given["table"])
    if given["table"].startswith(PREFIX):
        lines.append("from separatrix.samples import sample")
        table = f"sample({given['table'].removeprefix(PREFIX)!r}).path"
    scan = [table] + ([] if target is None else [f"target={target!r}"])
    written = as_written(given)
    names = ("weight", "group", "time", "missing", "unseen", "cluster", *WRITTEN)
    reading = [name for name in names if was_given(context, name)]
    scan += [f"{name}={written.get(name, given[name])!r}" for name in reading]
    ids = [name for name in given.get("ids", ()) if name not in ignored]
    scan += [f"id={ids!r}"] if ids else []
    for name in ("columns", "drop"):
        chosen = names_of(given.get(name, ()))
        scan += [f"{name}={chosen!r}"] if chosen else []
    kinds = {**kinds_of(given["kinds"]), **dict.fromkeys(ignored, "ignore")}
    if kinds:
        scan.append(f"kinds={kinds!r}")
    words = ", ".join([f"sx.scan({', '.join(scan)})", *arguments])
    return "\n".join([*lines, f"study = sx.{function}({words})"])


#: Parameters of Python that are options of the same name, and the others with theirs.
_SAME_NAME = (
    "target task models metric goal effort costs class_weight reject level seed test "
    "folds repeats nested weight group time id columns drop missing unseen decimal "
    "thousands dates na encoding delimiter header strict cluster method max_clusters to"
)
FLAGS = {name: f"--{name.replace('_', '-')}" for name in _SAME_NAME.split()} | {
    "parameters": "--set",
    "kinds": "--kind",
    "limits": "--limit",
    "k": "-k",
    "standardize": "--no-standardize",
}

_NAMES = "|".join(FLAGS)
_LITERAL = r"""\{[^{}]*\}|\[[^\[\]]*\]|'[^']*'|"[^"]*"|…|[\w.]*\w"""
_CALL = re.compile(rf"scan\(…, ((?:{_NAMES})=[^()]*)\)")
_MENTION = re.compile(
    rf"`(?P<bare>{_NAMES})`|(?P<tick>`?)\b(?P<name>{_NAMES})=(?P<value>{_LITERAL})(?P=tick)"
)


def with_flags(text: str) -> str:
    """A message written for Python, in the options of the command line."""
    return _MENTION.sub(_option, _CALL.sub(r"\1", text))


def _option(match: re.Match[str]) -> str:
    if match["bare"]:
        return FLAGS[match["bare"]]
    flag, text = FLAGS[match["name"]], match["value"]
    if text in ("…", "{…}"):
        return f"{flag} {'COLUMN=KIND' if flag == '--kind' else 'COLUMN'}"
    try:
        value = ast.literal_eval(text.replace("…", "'COLUMN'"))
    except (SyntaxError, ValueError):
        return match[0]
    if isinstance(value, bool):
        return flag
    if isinstance(value, dict):
        pairs = (f"{column}={kind}" for column, kind in value.items())
        return " ".join(f"{flag} {shlex.quote(pair)}" for pair in pairs)
    if isinstance(value, list | tuple):
        value = ",".join(str(item) for item in value)
    return f"{flag} {shlex.quote(str(value))}"


# -------------------------------------------------------------------------------------------------
# ``--class-weight balanced`` or ``LEVEL=W,…``, and ``--set MODEL.PARAMETER=VALUE``.


def parse_class_weight(text: str | None) -> str | dict[str, float] | None:
    """``balanced``, or ``"yes=5,no=1"`` as a mapping; a label with a comma is quoted, as in CSV."""
    if text is None or text.strip() == "balanced":
        return None if text is None else "balanced"
    weights = {}
    for pair in names_of((text,)):
        label, equals, number = pair.rpartition("=")
        try:
            weights[label.strip()] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise InputError(
                f"--class-weight {pair!r} is not LEVEL=WEIGHT.",
                remedy="Write --class-weight balanced, or --class-weight yes=5,no=1.",
            )
    return weights


def parse_parameters(given: tuple[str, ...]) -> dict[str, dict[str, Any]] | None:
    """``("ridge.alpha=0.1", "lasso.alphas=0.01,0.1")`` by model and parameter."""
    parameters: dict[str, dict[str, Any]] = {}
    for text in given:
        place, equals, values = text.partition("=")
        model, point, name = place.strip().rpartition(".")
        read = [_literal(value.strip()) for value in values.split(",") if value.strip()]
        if not (equals and point and model and name and read):
            raise InputError(
                f"--set {text!r} is not MODEL.PARAMETER=VALUE.",
                remedy="Write it as --set ridge.alpha=0.1, or ridge.alphas=0.1,1,10.",
            )
        parameters.setdefault(model, {})[name] = read if len(read) > 1 else read[0]
    return parameters or None


def _literal(text: str) -> Any:
    """A number, true, false or none; else the text itself."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


# -------------------------------------------------------------------------------------------------
# How rows are split and models validated: ``--test``, ``--folds``, ``--repeats``, ``--nested``.


LEAVE_ONE_OUT = "loo"


class FoldsParameter(click.ParamType):  # type: ignore[type-arg]
    """A number of folds, or ``loo``."""

    name = "folds"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        """The number, or the word."""
        if isinstance(value, int):
            return value
        text = str(value).strip().lower()
        if text == LEAVE_ONE_OUT:
            return text
        least = 2  # folds at least, and at most
        most = 50  # folds at most
        if not text.isdecimal() or not least <= int(text) <= most:
            what = f"{value!r} is neither a number from {least} to {most} nor {LEAVE_ONE_OUT!r}"
            self.fail(f"{what}, which leaves out one row at a time.", param, ctx)
        return int(text)


seed_option = click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the split.",
)
folds_option = click.option(
    "--folds",
    type=click.IntRange(2, 50),
    default=5,
    show_default=True,
    help="Folds of the cross-validation.",
)

#: What the test set is: seed, size.
test_options = together(
    seed_option,
    click.option(
        "--test",
        type=click.FloatRange(0, 0.9, min_open=True),
        default=0.2,
        show_default=True,
        help="Fraction of the rows in the held-out test set.",
    ),
)

#: How rows are split: seed, test set, folds.
split_options = together(
    test_options,
    folds_option,
)

#: How models of rows are validated.
validation_options = together(
    click.option(
        "--folds",
        type=FoldsParameter(),
        default=5,
        show_default=True,
        metavar="K|loo",
        help="Folds of the cross-validation; loo leaves out one row (or one group) at a time.",
    ),
    click.option(
        "--repeats",
        type=click.IntRange(1, 50),
        default=1,
        show_default=True,
        metavar="R",
        help="Draw the folds so many times, and compare models by the mean losses.",
    ),
    click.option(
        "--nested",
        is_flag=True,
        help="Repeat the whole selection without each fold: the honest score of the procedure.",
    ),
)


# -------------------------------------------------------------------------------------------------
# ``--cluster ADDRESS``: the workers of a Dask scheduler read the table; what traveled is said.


cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Let the workers of this Dask scheduler read the table (tcp://HOST:PORT); only statistics "
    "come back.",
)


def describe_travel(rows: Any) -> tuple[str, ...]:
    """What traveled, as a message; none for a table that is read here."""
    travel = getattr(rows, "travel", None)
    return () if travel is None else (travel.sentence(),)


def travel_document(rows: Any) -> dict[str, Any]:
    """The same for JSON; empty for a table that is read here."""
    travel = getattr(rows, "travel", None)
    return {} if travel is None else {"cluster": travel.document()}
