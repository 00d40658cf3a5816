"""From a study to one HTML file: nothing is fetched, nothing is sent."""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import re
from dataclasses import dataclass
from importlib import metadata, resources
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.estimators.inference import p_phrase
from separatrix.formatting import number
from separatrix.pictures.svg import to_svgs
from separatrix.report import figures, tables, verdict
from separatrix.report.figures import Gallery
from separatrix.storage.files import write_text
from separatrix.study import findings, result
from separatrix.study.candidates import display_name
from separatrix.study.summary import label_of

if TYPE_CHECKING:
    from markupsafe import Markup

_SHOWN_VERSIONS = ("separatrix", "numpy", "scipy", "scikit-learn", "matplotlib")


def render(study: result.Study) -> str:
    """The page as text. The same study gives the same bytes."""
    return render_template("page.html.j2", _context(study))


def render_template(template: str, context: dict[str, Any]) -> str:
    """A template of this package filled in, with what frames every page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("separatrix.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["coded"] = mark_code
    environment.filters["tied"] = tie_units
    environment.filters["breakable"] = break_after_underscores
    environment.filters["number"] = number
    environment.filters["p_phrase"] = p_phrase
    return environment.get_template(template).render({**context, **_frame()})


def _frame() -> dict[str, Any]:
    """Style, script and versions: the same on every page."""
    from markupsafe import Markup

    script = _part("page.js")
    return {
        "versions": _versions(),
        "style": Markup(_part("style.css")),
        "script": Markup(script),
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }


def write(study: result.Study, path: str | os.PathLike[str]) -> None:
    """Write the page, whole or not at all."""
    write_text(path, render(study))


def _context(study: result.Study) -> dict[str, Any]:
    """Everything that the template shows."""
    baseline = findings.is_baseline(study.winner)
    winner = findings.winner_of(study)
    return {
        "study": study,
        "model": study.description,
        "source": verdict.source_name(study),
        "reason": verdict.reason(study),
        "name": display_name(study.winner),
        "label": label_of(winner) if winner else "",
        "verdict": verdict.sentences(study),
        "tiles": verdict.tiles(study),
        "data": tables.data_table(study.columns, study.target),
        "data_sentence": tables.data_sentence(
            study.n_train + study.n_test, study.columns, study.target
        ),
        "leaderboard": tables.leaderboard_table(study),
        "fitted": tables.fitted_sentence(study),
        "repeats": tables.repeats_table(study),
        "repeats_sentence": tables.repeats_sentence(study),
        "nested": tables.nested_table(study),
        "nested_sentence": tables.nested_sentence(study),
        "other_choice": verdict.other_choice(study),
        "reference": verdict.reference_text(study),
        "scores": tables.score_table(study),
        "class_scores": tables.class_table(study),
        "confusions": tables.confusion_table(study),
        "stream_confusions": tables.confusion_matrix(study),
        "stream_reliability": tables.reliability_table(study),
        "coefficients": None if baseline else tables.coefficients_of(study),
        "quality": tables.quality_text(study.description.inference),
        "odds": tables.odds_table(study),
        "covariance_tests": tables.covariance_table(study),
        "calibrations": tables.calibration_table(study),
        "costs": tables.cost_table(study),
        "cost_sentence": tables.cost_sentence(study),
        "decisions": tables.decision_table(study),
        "intervals": tables.interval_table(study),
        "uncertainty": tables.uncertainty_text(study),
        "conformal": tables.conformal_text(study),
        "conformal_coverage": tables.coverage_table(study),
        "conformal_classes": tables.conformal_class_table(study),
        "evidence": tables.evidence_text(study),
        "process": tables.process_text(study),
        "length_scales": tables.length_scale_table(study),
        "stored_rows": tables.stored_rows_text(study),
        "no_intervals": _no_intervals(study),
        "baseline": baseline,
        "certificate": study.description.certificate,
        "certificate_numbers": tables.certificate_numbers(study.description.certificate),
        "svms": tables.svm_table(study),
        "warned": tables.list_warnings(study.warnings),
        "galleries": draw_galleries(_galleries(study)),
        "commands": commands(study),
        "python": python_code(study),
    }


def _galleries(study: result.Study) -> dict[str, Gallery]:
    """The pictures of every part of the page."""
    classification = study.task == "classification"
    galleries = {
        "columns": figures.columns(study),
        "importance": figures.importance(study),
        "dependence": figures.dependence(study),
        "comparison": figures.comparison(study),
        "test": figures.test_scores(study),
        "coefficients": figures.coefficients(study),
        "stored_rows": figures.stored_rows(study),
        "diagnostics": (figures.classification if classification else figures.regression)(study),
        "probabilities": figures.probabilities(study),
        "uncertainty": figures.uncertainty(study),
        "conformal": figures.draw_conformal(study),
        "learning": figures.learning(study),
    }
    figures.lift_headline(galleries)
    return galleries


def _no_intervals(study: result.Study) -> str:
    """Why coefficients come without intervals; of a classifier, with the one that has them."""
    inference = study.description.inference
    if inference is None or not inference.reason:
        return ""
    if study.task != "classification" or study.description.name == "LogisticRegression":
        return inference.reason
    return "Among classifiers, standard errors are available for `logistic` alone."


@dataclass(frozen=True)
class Figure:
    """A picture on the page."""

    title: str
    svg: Any
    caption: str


@dataclass(frozen=True)
class Drawn:
    """Pictures as SVG, and the reasons of those that are missing."""

    figures: tuple[Figure, ...]
    missing: tuple[str, ...]


def draw_galleries(galleries: dict[str, Gallery]) -> dict[str, Drawn]:
    """Every picture as SVG; ids begin with the name of its part of the page."""
    from markupsafe import Markup

    plots = [
        (picture, f"{name}-{i}")
        for name, gallery in galleries.items()
        for i, picture in enumerate(gallery.pictures)
    ]
    texts = iter(to_svgs(plots))
    return {
        name: Drawn(
            tuple(Figure(p.heading, Markup(next(texts)), p.caption) for p in gallery.pictures),
            tuple(gallery.missing),
        )
        for name, gallery in galleries.items()
    }


def _part(name: str) -> str:
    """A file of this package as text."""
    return resources.files("separatrix.report").joinpath(name).read_text(encoding="utf-8")


def mark_code(text: str) -> Any:
    """Options, and what stands between backticks, as code."""
    from markupsafe import Markup, escape

    def code(piece: str) -> Any:
        short = Markup(' class="short"') if len(piece) < 28 else ""  # stays on one line
        return Markup("<code{}>{}</code>").format(short, piece)

    pieces = re.split(r"(`[^`]+`|(?<![\w-])--[a-z][\w-]*(?:[ =][\w./=…-]*\w)?)", text)
    return Markup("").join(
        code(piece.strip("`")) if i % 2 else escape(piece) for i, piece in enumerate(pieces)
    )


def tie_units(text: str) -> str:
    """A per cent sign stays on the line of its number."""
    return text.replace(" %", "\u202f%")


def break_after_underscores(name: str) -> Markup:
    """A long name is broken between its words, and copied without a trace of it."""
    from markupsafe import Markup, escape

    return Markup("_<wbr>").join(escape(part) for part in name.split("_"))


def commands(study: result.Study) -> list[tuple[str, str]]:
    """Commands to predict new rows, and to create this report again."""
    typed = [("Predict new rows", "separatrix predict model.sx new.csv --out predicted.csv")]
    return [*typed, ("Create this report again", study.command)] if study.command else typed


def python_code(study: result.Study) -> str:
    """The same in Python."""
    lines = [
        "import separatrix",
        "",
        'model = separatrix.load("model.sx")',
        'predicted = model.predict(separatrix.scan("new.csv"))',
    ]
    if not study.source:
        return "\n".join(lines)
    if study.source.endswith(".moments"):
        lines.insert(1, "from separatrix.storage import load_moments")
        lines += ["", f"study = separatrix.run_study(load_moments({study.source!r}))"]
        return "\n".join(lines)
    table = repr(study.source)
    if study.source.startswith("sample:"):
        lines.insert(1, "from separatrix.samples import sample")
        table = f"sample({study.source.removeprefix('sample:')!r}).path"
    lines += [
        "",
        f"rows = separatrix.scan({table}, target={study.target!r})",
        f"study = separatrix.run_study(rows, {_arguments(study)})",
    ]
    return "\n".join(lines)


def _arguments(study: result.Study) -> str:
    """Split, costs and cost of a rejection, as arguments."""
    text = f"seed={study.seed}, test={study.test_fraction:g}"
    if study.validation == "leave_one_out":
        text += ", folds='loo'"
    if study.repeats is not None:
        text += f", folds={study.repeats.n_folds}, repeats={study.repeats.n_repeats}"
    if study.nested is not None:
        text += ", nested=True"
    if study.decision is None:
        return text
    costs = study.decision.costs
    if not (costs.matrix == 1.0 - np.eye(len(costs.matrix))).all():
        text += f", costs={costs.matrix.tolist()}"
    if costs.reject_cost is not None and np.ptp(costs.reject_cost) == 0:
        text += f", reject={float(costs.reject_cost[0]):g}"
    return text


def _versions() -> list[tuple[str, str]]:
    """Versions of the libraries."""
    versions = [("Python", platform.python_version())]
    for name in _SHOWN_VERSIONS:
        try:
            versions.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    return versions
