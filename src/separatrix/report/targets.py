"""The page of several targets: their studies side by side, with links to the page of each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from separatrix.formatting import score_info, score_text
from separatrix.report.page import render_template
from separatrix.storage.files import write_text


def render_targets(studies: Mapping[str, Mapping[str, Any]]) -> str:
    """The page as text, from what ``result.json`` has of each target."""
    lines = [
        {
            "target": name,
            "href": f"{quote(study['directory'])}/report.html",
            "model": study["winner"],
            "score": leading_score(study["test"]),
            "baseline": leading_score(study["baseline_test"]),
            "reason": study["reason"],
        }
        for name, study in studies.items()
    ]
    return render_template("targets.html.j2", {"lines": lines})


def write_targets(studies: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """Write the page, whole or not at all."""
    write_text(path, render_targets(studies))


def leading_score(scores: Mapping[str, Any]) -> str:
    """The first score of a test set, with its interval."""
    for metric, score in scores.items():
        value = score["value"] if isinstance(score, Mapping) else score
        interval = score.get("interval") if isinstance(score, Mapping) else None
        ends = [score_text(end, metric) for end in interval or ()]
        text = f"{score_info(metric).short} {score_text(value, metric)}"
        return f"{text} [{', '.join(ends)}]" if ends else text
    return "–"
