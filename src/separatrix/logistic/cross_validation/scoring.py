"""Scores of folds whose test rows may lack some of the classes."""

from __future__ import annotations

from copy import copy
from inspect import signature
from typing import Any

from numpy.typing import NDArray


def scorer_of_classes(scorer: Any, classes: NDArray[Any]) -> Any:
    """The scorer with all classes named, if its measure takes them: test rows may lack some."""
    measure = getattr(scorer, "_score_func", None)
    taken = () if measure is None else signature(measure).parameters
    if "labels" not in taken:
        return scorer
    named: dict[str, Any] = {"labels": classes}
    if len(classes) == 2 and "pos_label" in taken:
        named["pos_label"] = classes[-1]
    own = copy(scorer)
    own._kwargs = {**named, **scorer._kwargs}
    return own
