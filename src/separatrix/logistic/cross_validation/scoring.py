"""Scores of folds whose test rows may lack some of the classes."""

from __future__ import annotations

from copy import copy
from inspect import signature
from typing import Any

from numpy.typing import NDArray


def scorer_of_classes(scorer: Any, classes: NDArray[Any]) -> Any:
    """The scorer, told of all classes if its measure can be: test rows may not hold them all."""
    measure = getattr(scorer, "_score_func", None)
    taken = () if measure is None else signature(measure).parameters
    if "labels" not in taken:
        return scorer
    told = {"labels": classes}
    if len(classes) == 2 and "pos_label" in taken:
        told["pos_label"] = classes[-1]
    own = copy(scorer)
    own._kwargs = {**told, **scorer._kwargs}
    return own
