"""A program as a Python module that imports nothing but the standard library."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from separatrix.export import expressions as ex
from separatrix.export.program import Program
from separatrix.formula.inputs import InputColumn
from separatrix.rows.notations import AMONG_NUMBERS, SILENT
from separatrix.rows.schema import Kind

#: Columns of a line.
WIDTH = 100

Columns = dict[str, InputColumn]
#: Where a long expression may be broken.
_BREAK = re.compile(r" (\+|-|if|else) ")


def module_text(program: Program) -> str:
    """The module as text."""
    columns = {column.name: column for column in program.columns}
    parts = [
        f'"""{program.title}, exported by separatrix: predict(row) needs Python alone."""',
        "",
        "\n".join(f"# {line}" for line in _comments(program)),
        "",
        readers_for(program.columns),
        "",
        "def predict(row):",
        '    """The answer for a row, a mapping from columns to values."""',
    ]
    for number, stage in enumerate(program.stages):
        parts.append(f"    # {stage.name}")
        for definition in stage.definitions:
            parts += _assignment(definition.name, definition.expression, columns)
        if number == 0:
            for refusal in program.refusals:
                parts += [
                    f"    if {write_expression(refusal.condition, columns)}:",
                    f"        raise ValueError({refusal.reason!r})",
                ]
    answers = []
    for output in program.outputs:
        if isinstance(output.expression, ex.Defined):
            name = output.expression.name
        else:
            name = f"answer_{output.name}"
            parts += _assignment(name, output.expression, columns)
        answers.append(f"        {output.name!r}: {name},  # {ascii(output.meaning)[1:-1]}")
    return "\n".join([*parts, "    return {", *answers, "    }"]) + "\n"


def _comments(program: Program) -> list[str]:
    """What is read and answered; names are written as ASCII, so that no line ends early."""
    notes = [ascii(note)[1:-1] for note in program.notes]
    notes.append("Columns that are read:")
    for column in program.columns:
        what = {Kind.NUMERIC: "a number", Kind.BOOLEAN: "True or False"}.get(column.kind, "")
        if column.display in ("date", "datetime"):
            what = "a date"
        if column.kind is Kind.DISCRETE:
            shown = ", ".join(ascii(level) for level in column.levels[:12])
            what = f"one of {shown}{', ...' if len(column.levels) > 12 else ''}"
            what += ", or any other text" if column.pooled else ""
        notes += textwrap.wrap(f"  {column.name!a}: {what}", WIDTH - 4, subsequent_indent="    ")
    return notes


def _assignment(name: str, expression: ex.Expression, columns: Columns) -> list[str]:
    """The lines that define a name."""
    if isinstance(expression, ex.Case) and len(expression.branches) > 2:  # else on one line
        return _cases(name, expression, columns)
    line = f"    {name} = {write_expression(expression, columns)}"
    if len(line) <= WIDTH:
        return [line]
    return [f"    {name} = (", *_fold_lines(write_expression(expression, columns)), "    )"]


def _cases(name: str, case: ex.Case, columns: Columns) -> list[str]:
    """if … elif … else; of very many branches the first that holds is set last."""
    pairs = [
        (write_expression(branch.condition, columns), write_expression(branch.value, columns))
        for branch in case.branches
    ]
    if len(pairs) > 60:  # Python limits how deep a chain of elif nests
        lines = [f"    {name} = {write_expression(case.otherwise, columns)}"]
        for condition, value in reversed(pairs):
            lines += [f"    if {condition}:", f"        {name} = {value}"]
        return lines
    lines = []
    for i, (condition, value) in enumerate(pairs):
        lines += [f"    {'elif' if i else 'if'} {condition}:", f"        {name} = {value}"]
    return [*lines, "    else:", f"        {name} = {write_expression(case.otherwise, columns)}"]


def _fold_lines(text: str) -> list[str]:
    """A long expression over several lines, broken before signs and words outside of brackets."""
    lines, line, quote, depth, i = [], "", "", 0, 0
    while i < len(text):
        sign = text[i]
        if quote:
            if sign == "\\":
                line += text[i : i + 2]
                i += 2
                continue
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        depth += (sign in "([") - (sign in ")]") if not quote else 0
        words = depth == 0 and not quote and _BREAK.match(text, i)
        if words and len(line) > WIDTH - 60:
            lines.append(line)
            line, i = words[0].lstrip(), i + len(words[0])
            continue
        line += sign
        i += 1
    return [f"        {one}" for one in [*lines, line]]


# -------------------------------------------------------------------------------------------------
# The functions of an exported module that read a row: only those that it needs.


_NUMBER = '''
def _number(row, name, missing=()):
    """A number of the row, None where it is missing."""
    value = row[name]
    if isinstance(value, str):
        value = value.strip()
        value = None if value in _NO_NUMBERS else value
    if value is None:
        return None
    value = float(value)
    if math.isinf(value):
        raise ValueError(f"column {name!r} holds an infinite value")
    return None if math.isnan(value) or value in missing else value
'''
_DAYS = '''
def _days(row, name, missing=()):
    """Days since 1970-01-01 of a date, a time, or ISO text; a number is as many days."""
    value = row[name]
    if isinstance(value, str) and value.strip() not in _NO_NUMBERS:
        value = datetime.datetime.fromisoformat(value.strip())
    if isinstance(value, datetime.datetime):
        start = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        moment = value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)
        return (moment - start) / datetime.timedelta(days=1)
    if isinstance(value, datetime.date):
        return float((value - datetime.date(1970, 1, 1)).days)
    return _number(row, name, missing)
'''
_TRUTH = '''
def _truth(row, name):
    """1.0 for true, 0.0 for false, None where it is missing."""
    value = row[name]
    if isinstance(value, str):
        texts = {"true": 1.0, "false": 0.0}
        value = texts.get(value.strip().lower(), value)
    number = _number({name: value}, name)
    if number not in (None, 0.0, 1.0):
        raise ValueError(f"column {name!r} holds {number}, and not true or false")
    return number
'''
_LEVEL = '''
def _level(row, name, missing):
    """A level of the row as text, None where it is missing; 3.0 is the level '3'."""
    value = row[name]
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    return None if not text or text in missing else text
'''


def readers_for(columns: Sequence[InputColumn]) -> str:
    """Imports, and the functions that read these columns."""
    kinds = {column.kind for column in columns}
    dates = any(column.display in ("date", "datetime") for column in columns)
    numbers = kinds & {Kind.NUMERIC, Kind.BOOLEAN}
    parts = ["import datetime\nimport math" if dates else "import math"]
    if numbers:
        texts = ", ".join(ascii(text) for text in sorted(AMONG_NUMBERS | SILENT))
        lines = "\n".join(
            textwrap.wrap(texts, 90, initial_indent=" " * 8, subsequent_indent=" " * 8)
        )
        parts.append(f"\n_NO_NUMBERS = frozenset(\n    [\n{lines},\n    ]\n)\n\n{_NUMBER}")
    if dates:
        parts.append(_DAYS)
    if Kind.BOOLEAN in kinds:
        parts.append(_TRUTH)
    if Kind.DISCRETE in kinds:
        parts.append(_LEVEL)
    return "\n".join(parts)


# -------------------------------------------------------------------------------------------------
# Scalar expressions as Python text.


#: How tightly parts hold together: an expression inside a tighter one needs parentheses.
CHOICE, OR, AND, NOT, COMPARISON, SUM, PRODUCT, SIGN, ATOM = range(9)


def write_expression(
    expression: ex.Expression, columns: dict[str, InputColumn], outer: int = CHOICE
) -> str:
    """The text of an expression, in parentheses where what is around it holds tighter."""
    text, precedence = _text(expression, columns)
    return f"({text})" if precedence < outer else text


def _text(expression: ex.Expression, columns: dict[str, InputColumn]) -> tuple[str, int]:
    def inside(one: ex.Expression, outer: int = CHOICE) -> str:
        return write_expression(one, columns, outer)

    match expression:
        case ex.Number(value):
            return repr(value), SIGN if value < 0 else ATOM
        case ex.Text(value) | ex.Truth(value):
            return repr(value), ATOM
        case ex.Missing():
            return "None", ATOM
        case ex.Defined(name):
            return name, ATOM
        case ex.RawNumber(column) | ex.RawLevel(column):
            return _raw(columns[column]), ATOM
        case ex.SumOf(terms):
            return _sum(terms, columns), SUM
        case ex.ProductOf(factors):
            if factors[0] == ex.Number(-1.0):
                return "-" + " * ".join(inside(one, SIGN) for one in factors[1:]), PRODUCT
            return " * ".join(inside(one, SIGN) for one in factors), PRODUCT
        case ex.Quotient(a, b):
            return f"{inside(a, PRODUCT)} / {inside(b, SIGN)}", PRODUCT
        case ex.Exp(argument):
            return f"math.exp({inside(argument)})", ATOM
        case ex.Log(argument):
            return f"math.log({inside(argument)})", ATOM
        case ex.Sqrt(argument):
            return f"math.sqrt({inside(argument)})", ATOM
        case ex.Largest((one,)) | ex.Smallest((one,)):
            return inside(one), CHOICE
        case ex.Largest(arguments):
            return f"max({', '.join(map(inside, arguments))})", ATOM
        case ex.Smallest(arguments):
            return f"min({', '.join(map(inside, arguments))})", ATOM
        case ex.Filled(argument, fill):
            first = inside(argument, SUM)
            return f"{inside(fill, OR)} if {first} is None else {inside(argument)}", CHOICE
        case ex.Case(branches, otherwise):
            parts = [
                f"{inside(one.value, OR)} if {inside(one.condition, OR)} else " for one in branches
            ]
            return "".join(parts) + inside(otherwise), CHOICE
    return _condition(expression, columns)


def _condition(expression: ex.Expression, columns: dict[str, InputColumn]) -> tuple[str, int]:
    def inside(one: ex.Expression, outer: int = CHOICE) -> str:
        return write_expression(one, columns, outer)

    match expression:
        case ex.Compare(a, operator, b):
            sign = "==" if operator == "=" else operator
            return f"{inside(a, SUM)} {sign} {inside(b, SUM)}", COMPARISON
        case ex.IsMissing(argument):
            return f"{inside(argument, SUM)} is None", COMPARISON
        case ex.OneOf(argument, (one,)):
            return f"{inside(argument, SUM)} == {one!r}", COMPARISON
        case ex.OneOf(argument, texts):
            return f"{inside(argument, SUM)} in {texts!r}", COMPARISON
        case ex.Not(ex.IsMissing(argument)):
            return f"{inside(argument, SUM)} is not None", COMPARISON
        case ex.Not(ex.OneOf(argument, texts)):
            return f"{inside(argument, SUM)} not in {texts!r}", COMPARISON
        case ex.Not(condition):
            return f"not {inside(condition, COMPARISON)}", NOT
        case ex.All(conditions):
            return " and ".join(inside(one, NOT) for one in conditions), AND
        case ex.AnyOf(conditions):
            return " or ".join(inside(one, AND) for one in conditions), OR
    raise TypeError(f"no expression: {expression!r}")


def _sum(terms: Sequence[ex.Expression], columns: dict[str, InputColumn]) -> str:
    text = write_expression(terms[0], columns, SUM)
    for term in terms[1:]:
        part = write_expression(term, columns, PRODUCT if not isinstance(term, ex.Number) else SIGN)
        text += f" - {part[1:]}" if part.startswith("-") else f" + {part}"
    return text


def _raw(column: InputColumn) -> str:
    """The call that reads a column of the row."""
    name = repr(column.name)
    if column.kind is Kind.DISCRETE:
        return f"_level(row, {name}, {column.missing_texts!r})"
    if column.kind is Kind.BOOLEAN:
        return f"_truth(row, {name})"
    function = "_days" if column.display in ("date", "datetime") else "_number"
    missing = f", {column.missing_numbers!r}" if column.missing_numbers else ""
    return f"{function}(row, {name}{missing})"
