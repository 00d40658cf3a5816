"""Evaluates exported JSON documents from their description alone, sharing no code with exports."""

from __future__ import annotations

import math
import operator
from typing import Any

OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}


def evaluate(document: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """The outputs for a row; a refused row raises ValueError."""
    columns = {column["name"]: column for column in document["columns"]}
    known: dict[str, Any] = {}

    def number_in(name: str) -> float | None:
        value = row[name]
        if value is None or value != value or value in columns[name]["missing_numbers"]:
            return None
        return float(value)

    def level_in(name: str) -> str | None:
        value = row[name]
        if value is None or value != value:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        text = str(value).strip()
        return None if not text or text in columns[name]["missing_texts"] else text

    def of(e: Any) -> Any:
        if e is None or isinstance(e, bool | int | float):
            return e
        kind, argument = next(iter(e.items()))
        match kind:
            case "text":
                return argument
            case "value":
                return known[argument]
            case "number_in":
                return number_in(argument)
            case "level_in":
                return level_in(argument)
            case "sum":
                return math.fsum(map(of, argument))
            case "product":
                return math.prod(map(of, argument))
            case "quotient":
                return of(argument[0]) / of(argument[1])
            case "exp":
                return math.exp(of(argument))
            case "log":
                return math.log(of(argument))
            case "sqrt":
                return math.sqrt(of(argument))
            case "largest":
                return max(map(of, argument))
            case "smallest":
                return min(map(of, argument))
            case "compare":
                return OPERATORS[argument[1]](of(argument[0]), of(argument[2]))
            case "missing":
                return of(argument) is None
            case "one_of":
                return of(argument[0]) in argument[1]
            case "all":
                return all(map(of, argument))
            case "any":
                return any(map(of, argument))
            case "not":
                return not of(argument)
            case "filled":
                found = of(argument[0])
                return of(argument[1]) if found is None else found
            case "case":
                found = [value for condition, value in argument if of(condition)]
                return of(found[0] if found else e["else"])
        raise ValueError(kind)

    first = True
    for stage in document["stages"]:
        for definition in stage["definitions"]:
            known[definition["name"]] = of(definition["is"])
        if first:  # refusals use the values of the first stage
            first = False
            for refusal in document["refusals"]:
                if of(refusal["where"]):
                    raise ValueError(refusal["reason"])
    return {output["name"]: of(output["is"]) for output in document["outputs"]}
