"""A program as a Python module that imports nothing but the standard library."""

from __future__ import annotations

import re
import textwrap

from separatrix.export.expressions import Case, Expression, Value
from separatrix.export.inputs import InputColumn
from separatrix.export.program import Program
from separatrix.export.python.readers import readers_for
from separatrix.export.python.scalars import written
from separatrix.rows.schema import Kind

#: Columns of a line.
WIDTH = 100
#: Branches up to which a case is one line of "if … else …".
FEW_BRANCHES = 2
#: Branches up to which a case is a chain of elif; Python limits how deep they nest.
MOST_BRANCHES = 60

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
        for one in stage.definitions:
            parts += _assignment(one.name, one.expression, columns)
        if number == 0:
            for refusal in program.refusals:
                parts += [
                    f"    if {written(refusal.condition, columns)}:",
                    f"        raise ValueError({refusal.reason!r})",
                ]
    answers = []
    for output in program.outputs:
        if isinstance(output.expression, Value):
            name = output.expression.name
        else:
            name = f"answer_{output.name}"
            parts += _assignment(name, output.expression, columns)
        answers.append(f"        {output.name!r}: {name},  # {ascii(output.meaning)[1:-1]}")
    return "\n".join([*parts, "    return {", *answers, "    }"]) + "\n"


def _comments(program: Program) -> list[str]:
    """What is read and answered; names are written as ASCII, so that no line ends early."""
    found = [ascii(note)[1:-1] for note in program.notes]
    found.append("Columns that are read:")
    for column in program.columns:
        what = {Kind.NUMERIC: "a number", Kind.BOOLEAN: "True or False"}.get(column.kind, "")
        if column.display in ("date", "datetime"):
            what = "a date"
        if column.kind is Kind.DISCRETE:
            shown = ", ".join(ascii(level) for level in column.levels[:12])
            what = f"one of {shown}{', ...' if len(column.levels) > 12 else ''}"
            what += ", or any other text" if column.pooled else ""
        found += textwrap.wrap(f"  {column.name!a}: {what}", WIDTH - 4, subsequent_indent="    ")
    return found


def _assignment(name: str, expression: Expression, columns: Columns) -> list[str]:
    """The lines that define a name."""
    if isinstance(expression, Case) and len(expression.branches) > FEW_BRANCHES:
        return _cases(name, expression, columns)
    line = f"    {name} = {written(expression, columns)}"
    if len(line) <= WIDTH:
        return [line]
    return [f"    {name} = (", *_folded(written(expression, columns)), "    )"]


def _cases(name: str, case: Case, columns: Columns) -> list[str]:
    """if … elif … else; of very many branches the first that holds is set last."""
    pairs = [
        (written(one.condition, columns), written(one.value, columns)) for one in case.branches
    ]
    if len(pairs) > MOST_BRANCHES:
        lines = [f"    {name} = {written(case.otherwise, columns)}"]
        for condition, value in reversed(pairs):
            lines += [f"    if {condition}:", f"        {name} = {value}"]
        return lines
    lines = []
    for i, (condition, value) in enumerate(pairs):
        lines += [f"    {'elif' if i else 'if'} {condition}:", f"        {name} = {value}"]
    return [*lines, "    else:", f"        {name} = {written(case.otherwise, columns)}"]


def _folded(text: str) -> list[str]:
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
