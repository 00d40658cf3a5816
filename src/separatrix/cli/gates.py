"""``--min-score auc=0.8``: scores that must be reached on the test part."""

from __future__ import annotations

import math
from typing import Any

from separatrix.messages import InputError, did_you_mean
from separatrix.study.result import Study

#: Measures of error: for these, smaller is better and the gate is an upper limit.
ERRORS = {"rmse", "mae", "error", "log_loss", "cost", "risk"}
KNOWN = (*sorted(ERRORS), "r2", "accuracy", "auc", "coverage")


def parse(given: tuple[str, ...]) -> dict[str, float]:
    """``("r2=0.8",)`` as a mapping of metric to value."""
    wanted = {}
    for text in given:
        metric, equals, number = text.partition("=")
        try:
            limit = float(number)
        except ValueError:
            limit = math.nan
        wanted[metric.strip().lower()] = limit
        if not equals or not math.isfinite(limit):
            raise InputError(
                f"--min-score {text!r} is not METRIC=VALUE.",
                remedy="Write it as --min-score r2=0.8.",
            )
        if metric.strip().lower() not in KNOWN:
            raise InputError(
                f"--min-score names {metric!r}, which is no score.",
                remedy=did_you_mean(metric, KNOWN),
            )
    return wanted


def check(wanted: dict[str, float], study: Study) -> list[dict[str, Any]]:
    """What became of every gate; a metric that the study did not measure is refused."""
    measured = {score.metric: score.value for score in study.test}
    judged = []
    for metric, limit in wanted.items():
        if metric not in measured:
            raise InputError(
                f"--min-score names {metric!r}, which is not measured for {study.task}.",
                remedy=did_you_mean(metric, list(measured)),
            )
        value = measured[metric]
        passed = value <= limit if metric in ERRORS else value >= limit
        bound = "at most" if metric in ERRORS else "at least"
        message = f"{metric} is {value:.4g} on the test part; {bound} {limit:g} was asked for"
        judged.append(
            {"metric": metric, "limit": limit, "value": value, "passed": passed, "message": message}
        )
    return judged
