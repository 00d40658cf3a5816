"""Pictures of columns on the page, and pictures that are left out because they would mislead."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.report import figures, render
from separatrix.samples import sample
from separatrix.study import run_study
from separatrix.study.result import Margins
from tests.report.browser import Browser
from tests.report.conftest import CHROMIUM
from tests.sketches import sketched_page


@pytest.fixture(scope="module")
def houses():
    return run_study(sx.scan(sample("houses").path, target="price"), models=["linear"])


@pytest.fixture(scope="module")
def wine():
    return run_study(sx.scan(sample("wine").path, target="cultivar"), models=["lda"])


@pytest.fixture(scope="module")
def page(houses):
    return render(houses)


def kinds(gallery):
    return [type(p).__name__ for p in gallery.pictures]


def test_each_leading_column_is_beside_its_dependence(houses, wine):
    for study in (houses, wine):
        drawn = figures.dependence(study)
        assert kinds(drawn) == ["ColumnDistributionDisplay", "PartialDependenceDisplay"] * len(
            study.dependence
        )
        for left, right in zip(drawn.pictures[::2], drawn.pictures[1::2], strict=True):
            assert left.column == right.column
            assert left.size == right.size


def test_importance_has_a_section_of_its_own(houses, page):
    section = page[
        page.index('<section id="importance">') : page.index('<section id="certificate">')
    ]
    assert f"permuted among {houses.n_test} test rows (10 times)" in section
    assert section.count("<figure>") == 1 + 2 * len(houses.dependence)
    for curve in houses.dependence:
        assert f"Partial dependence on {curve.column}</h3>" in section
    assert '<a href="#importance">' in page
    bare = sketched_page(replace(houses, importance=None, dependence=()))
    assert 'id="importance"' not in bare
    assert 'href="#importance"' not in bare


def test_the_data_show_the_target_and_the_correlations(houses, wine):
    for study in (houses, wine):
        drawn = figures.columns(study)
        paired = ["PairwiseDisplay"] * (study.pairs is not None)  # of few columns
        assert kinds(drawn) == ["ColumnDistributionDisplay", "CorrelationDisplay", *paired]
        assert drawn.pictures[0].column == study.target
    assert {study.pairs is not None for study in (houses, wine)} == {True, False}
    without = replace(houses, importance=None, dependence=(), pairs=None)
    assert len(figures.columns(without).pictures) == len(houses.distributions) + 1


def test_predicted_against_actual_are_the_test_rows(houses, wine):
    drawn = figures.test_scores(houses)
    assert kinds(drawn) == ["GeneralizationGapDisplay", "PredictedActualDisplay"]
    display = drawn.pictures[1]
    assert len(display.actual) == houses.n_test
    r2 = next(score for score in houses.test if score.metric == "r2")
    assert display.r_squared == pytest.approx(r2.value)
    assert kinds(figures.test_scores(wine)) == ["GeneralizationGapDisplay"]


def test_a_boundary_that_agrees_with_few_rows_is_left_out(wine):
    drawn = figures.classification(wine)
    assert kinds(drawn)[:2] == ["ConfusionMatrixDisplay", "DecisionBoundaryDisplay"]
    poor = replace(wine, decision_surface=replace(wine.decision_surface, agreement=0.61))
    drawn = figures.classification(poor)
    assert "DecisionBoundaryDisplay" not in kinds(drawn)
    assert any(f"in only 61 % of {wine.n_test} test rows" in text for text in drawn.missing)
    assert f"in only 61 % of {wine.n_test} test rows" in sketched_page(poor)


def test_curves_stay_together_without_a_boundary(probable):
    """ROC beside precision–recall, and the margins beside the confusion matrix."""
    poor = replace(probable, decision_surface=replace(probable.decision_surface, agreement=0.2))
    order = kinds(figures.classification(poor))
    assert order[0] == "ConfusionMatrixDisplay"
    assert order[2:] == ["RocDisplay", "PrecisionRecallDisplay"]
    order = kinds(figures.classification(probable))
    assert order[1:4] == ["DecisionBoundaryDisplay", "RocDisplay", "PrecisionRecallDisplay"]


@pytest.mark.parametrize(("noise", "shown"), [(0.0, True), (1.0, False)])
def test_margins_that_agree_with_few_rows_are_left_out(noise, shown):
    """On the plane f = x; the scores of the rows are the same, or those of other rows."""
    from separatrix.probability.decision_surface import DecisionFunctionSurface

    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, size=(200, 2))
    grid = np.linspace(-1.1, 1.1, 12)
    plane = DecisionFunctionSurface(
        points, grid, grid, np.tile(grid, (12, 1)), ("x", "y"), projected=True
    )
    scores = points[:, 0] if not noise else rng.permutation(points[:, 0])
    y = np.where(scores > 0, "yes", "no")
    study = run_study(sx.scan(sample("diabetes").path, target="sex"), models=["linear_svm"])
    margins = Margins(np.full(200, 0.5), np.ones(200), y, scores, plane)
    drawn = figures.stored_rows(replace(study, margins=margins, classes=("no", "yes")))
    assert ("SupportVectorDisplay" in kinds(drawn)) == shown
    assert any("% of 200 training rows" in text for text in drawn.missing) != shown


def test_dates_and_years_are_written_as_such():
    rng = np.random.default_rng(2)
    n = 300
    start = pd.Timestamp("2015-01-01")
    table = pd.DataFrame(
        {
            "day": start + pd.to_timedelta(rng.integers(0, 1500, n), unit="D"),
            "year": rng.integers(1990, 2020, n),
        }
    )
    table["y"] = (table["day"] - start).dt.days / 30 + table["year"] - 2000 + rng.normal(size=n)
    study = run_study(sx.scan(table, target="y"), models=["linear"])
    text = render(study)
    section = text[
        text.index('<section id="importance">') : text.index('<section id="certificate">')
    ]
    assert re.search(r"at 2015-01-\d\d", section)
    assert re.search(r"from −?[\d.,]+ at 199\d to", section, re.I)
    assert "1,99" not in section
    ticks = re.findall(r">(20\d\d)</text>", section)
    assert len(ticks) > 4


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_pairs_are_side_by_side_at_a_desk_and_one_below_the_other_on_a_phone(page, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(page, encoding="utf-8")
    browser = Browser(CHROMIUM, tmp_path / "profile")
    place = (
        "[...document.querySelectorAll('#importance .figures')].at(-1).querySelectorAll('figure')"
    )
    tops = f"[...{place}].map(f => Math.round(f.getBoundingClientRect().top))"
    try:
        browser.open(file, width=1180)
        at = browser.evaluate(tops)
        assert at[::2] == at[1::2]
        assert len(set(at)) == len(at) // 2
        browser.open(file, width=390)
        at = browser.evaluate(tops)
        assert at == sorted(at)
        assert len(set(at)) == len(at)
    finally:
        browser.close()
