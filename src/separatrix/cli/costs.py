"""``--costs``: misclassification costs, inline or from a small file.

    "cat:dog=5,dog:cat=1"            truth:answer=cost, separated by commas
    costs.json                       {"cat": {"dog": 5}, "dog": {"cat": 1}}
    costs.csv                        a line for each truth, a column for each answer

What is not named costs 1 if it is wrong and 0 if it is right. "reject" may stand among the answers.
"""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

from separatrix.messages import InputError

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
    found = _of_json(content, text) if _is_json(path, content) else _of_csv(content, text)
    if not any(found.values()):
        raise InputError("names no cost.", file=text, remedy=FORM)
    return found


def _is_json(path: Path, content: str) -> bool:
    return path.suffix.lower() == ".json" or content.lstrip().startswith("{")


def _inline(text: str) -> Mapping:
    found: Mapping = {}
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
        _put(found, truth, answer, _number(number, f"--costs {piece!r}: "), None)
    if not found:
        raise InputError("--costs names no cost.", remedy=FORM)
    return found


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
    found: Mapping = {}
    for truth, answers in given.items():
        for answer, cost in answers.items():
            _put(found, truth, answer, _number(cost, f"{truth!r} for {answer!r}: ", file), file)
    return found


def _of_csv(content: str, file: str) -> Mapping:
    lines = [line for line in csv.reader(content.splitlines()) if any(c.strip() for c in line)]
    if len(lines) < 2 or len(lines[0]) < 2:
        raise InputError(
            "contains no table of costs.",
            file=file,
            remedy="Give a line for each truth and a column for each answer, with names on both.",
        )
    answers = [name.strip() for name in lines[0][1:]]
    found: Mapping = {}
    for number, line in enumerate(lines[1:], start=1):
        if len(line) != len(answers) + 1:
            raise InputError(
                f"{len(line)} values for {len(answers) + 1} columns.", file=file, row=number
            )
        for answer, cell in zip(answers, line[1:], strict=True):
            if cell.strip():
                _put(found, line[0].strip(), answer, _number(cell, "", file, number), file)
    return found


def _put(found: Mapping, truth: str, answer: str, cost: float, file: str | None) -> None:
    row = found.setdefault(truth, {})
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
