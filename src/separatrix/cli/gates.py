"""``--min-score auc=0.8``: limits on the test scores."""

from __future__ import annotations

import math
from typing import Any

from separatrix.messages import InputError, did_you_mean
from separatrix.study.result import Study

#: Metrics of which smaller is better: the gate is an upper limit.
ERRORS = {"rmse", "mae", "error", "log_loss", "cost", "risk"}
KNOWN = (*sorted(ERRORS), "r2", "accuracy", "auc", "coverage")


def parse(given: tuple[str, ...]) -> dict[str, float]:
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


def check(limits: dict[str, float], study: Study) -> list[dict[str, Any]]:
    """Each limit against the test score; a metric that the study does not have is refused."""
    scores = {score.metric: score.value for score in study.test}
    checked = []
    for metric, limit in limits.items():
        if metric not in scores:
            raise InputError(
                f"--min-score names {metric!r}, which is not measured for {study.task}.",
                remedy=did_you_mean(metric, list(scores)),
            )
        value = scores[metric]
        passed = value <= limit if metric in ERRORS else value >= limit
        bound = "at most" if metric in ERRORS else "at least"
        message = f"{metric} is {value:.4g} on the test set; {bound} {limit:g} is required"
        checked.append(
            {"metric": metric, "limit": limit, "value": value, "passed": passed, "message": message}
        )
    return checked
