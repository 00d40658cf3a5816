"""Regenerate docs/pictures.md with its plots, and the screenshots of the report and the explorer.

    python -m docs.make_pictures        (from the root of the project; Chromium for the screenshots)

Every picture is one that a report shows, of a study of a built-in table. Each is an SVG file that
follows the reader's light or dark theme.
"""

from __future__ import annotations

import base64
import io
import re
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from docs.extensions.displays import alone
from PIL import Image
from sklearn.datasets import load_wine

import separatrix
from separatrix.pictures import (
    ActiveCurveDisplay,
    AdditiveCurveDisplay,
    BiasVarianceDisplay,
    CategoryCoverageDisplay,
    ClusterProfileDisplay,
    ClusterProjectionDisplay,
    CriteriaDisplay,
    DendrogramDisplay,
    DescentSigmoidDisplay,
    Display,
    DistanceConcentrationDisplay,
    DualCoefficientDisplay,
    ElbowDisplay,
    EvidenceCurveDisplay,
    EvidenceWeightDisplay,
    FitsDisplay,
    LaplaceComparisonDisplay,
    LearningLinesDisplay,
    LearningSurfaceDisplay,
    MarginDisplay,
    MetricDirectionsDisplay,
    NeighborCountDisplay,
    PACDisplay,
    PairwiseDisplay,
    PerceptronTraceDisplay,
    PredictiveBandDisplay,
    RelevanceDisplay,
    SetSizeDisplay,
    ShatteringDisplay,
    SilhouetteDisplay,
    SupportVectorDisplay,
    SVMPathDisplay,
    TrainingTraceDisplay,
    VersionSpaceDisplay,
    VoronoiDisplay,
)
from separatrix.report import figures, write
from separatrix.samples import sample

HERE = Path(__file__).parent
PICTURES = HERE / "images" / "gallery"

#: Studies: table, target, models (None: all), rejection cost (None: no rejection).
STUDIES = {
    "lines": ("diabetes", "progression", None, None),
    "penalty": ("diabetes", "progression", ["lasso"], None),
    "two classes": ("diabetes", "sex", ["logistic"], None),
    "reject": ("diabetes", "sex", ["logistic"], 0.3),
    "three classes": ("wine", "cultivar", ["naive_bayes"], None),
    "bayes": ("diabetes", "progression", ["bayes"], None),
}

#: Heading → which pictures (by class) of which study, in the order of the page.
CHAPTERS = {
    "Choosing a model": (
        "lines",
        ("CrossValidationDisplay", "GeneralizationGapDisplay", "LearningCurveDisplay"),
    ),
    "Columns": (
        "lines",
        (
            "CorrelationDisplay",
            "PermutationImportanceDisplay",
            "ColumnDistributionDisplay",
            "PartialDependenceDisplay",
        ),
    ),
    "Columns and classes": (
        "three classes",
        ("ColumnDistributionDisplay", "PartialDependenceDisplay"),
    ),
    "Coefficients": ("lines", ("CoefficientDisplay", "RegularizationPathDisplay")),
    "A tuned penalty": ("penalty", ("RegularizationPathDisplay", "ValidationCurveDisplay")),
    "Residuals": (
        "lines",
        (
            "PredictedActualDisplay",
            "ResidualDisplay",
            "QuantileQuantileDisplay",
            "ScaleLocationDisplay",
            "LeverageDisplay",
        ),
    ),
    "Predictive distributions": (
        "bayes",
        (
            "CoefficientDisplay",
            "PredictiveIntervalDisplay",
            "StandardizedResidualDisplay",
            "CoverageDisplay",
            "PITDisplay",
        ),
    ),
    "Two classes": (
        "two classes",
        (
            "CoefficientDisplay",
            "ConfusionMatrixDisplay",
            "DecisionBoundaryDisplay",
            "RocDisplay",
            "PrecisionRecallDisplay",
            "SignedDistanceDisplay",
            "CalibrationDisplay",
        ),
    ),
    "Rejection": (
        "reject",
        ("ConfusionMatrixDisplay", "DecisionBoundaryDisplay", "CoverageRiskDisplay"),
    ),
    "Several classes": (
        "three classes",
        (
            "ConfusionMatrixDisplay",
            "DecisionBoundaryDisplay",
            "OneVsRestRocDisplay",
            "LogOddsDisplay",
        ),
    ),
}

#: Size of the screenshot: the width of the page in each theme, what is kept of its height, and
#: how far it is reduced.
PAGE_WIDTH, PAGE_HEIGHT, REDUCED = 1000, 880, 0.8
#: Whether a view of the explorer has its fit: its certificate stands there.
FITTED = "Boolean(document.querySelector('[data-figure=certificate]')?.textContent)"


def main() -> None:
    """Everything."""
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir(parents=True)
    studies = {name: _study(*asked) for name, asked in STUDIES.items()}
    (HERE / "pictures.md").write_text(_page(studies), encoding="utf-8")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("no Chromium on this machine: the screenshots stay as they are")
    _screenshot(studies["lines"], chromium)
    _explorer(studies["lines"], chromium)


def _study(table: str, target: str, models: list[str] | None, reject: float | None) -> Any:
    rows = separatrix.scan(sample(table).path, target=target)
    command = f"separatrix fit sample:{table} --target {target}"
    if models is not None:
        command += f" --models {','.join(models)}"
    if reject is not None:
        command += f" --reject {reject:g}"
    return separatrix.run_study(
        rows, models=models, reject=reject, source=f"sample:{table}", command=command
    )


def _drawn(study: Any) -> dict[str, Display]:
    """The pictures of its report, the first of each class."""
    galleries = [
        figures.importance(study),
        figures.dependence(study),
        figures.columns(study),
        figures.comparison(study),
        figures.test_scores(study),
        figures.coefficients(study),
        figures.learning(study),
        figures.probabilities(study),
        figures.uncertainty(study),
        figures.stored_rows(study),
        figures.classification(study)
        if study.task == "classification"
        else figures.regression(study),
    ]
    drawn: dict[str, Display] = {}
    for gallery in galleries:
        for picture in gallery.pictures:
            drawn.setdefault(type(picture).__name__, picture)
    return drawn


def _page(studies: dict[str, Any]) -> str:
    lines = [
        "# Every picture",
        "",
        "Every display, drawn from a built-in table. The text below each is its `description`, the",
        "text alternative of the plot. In Python: [Pictures](guide/pictures.md). Generated by",
        "`python -m docs.make_pictures`.",
    ]
    for heading, (name, kinds) in CHAPTERS.items():
        study, drawn = studies[name], _drawn(studies[name])
        lines += ["", f"## {heading}", "", f"`{study.command}`"]
        for kind in kinds:
            lines += _entry(heading, drawn[kind])
    lines += ["", "## Pairs of columns", "", "`PairwiseDisplay.from_rows(x, y)`"]
    lines += _entry("Pairs", _pairs())
    curves = "`separatrix.criteria(path, x, y)` and `separatrix curve sample:diabetes`"
    lines += ["", "## Complexity and rows", "", curves]
    for picture in _complexity():
        lines += _entry("Complexity", picture)
    lines += ["", "## Gradient descent", "", "`GradientDescent().fit(x, y)`"]
    for picture in _gradient_descent():
        lines += _entry("Gradient descent", picture)
    lines += ["", "## Bayesian logistic regression", "", "`BayesianLogisticRegression().fit(x, y)`"]
    lines += _entry("Bayesian logistic", _bayesian_logistic())
    models = "`BayesianRidge(standardize=True).fit(x, y)` and `EvidenceAveraging([…]).fit(x, y)`"
    lines += ["", "## Evidence", "", models]
    for picture in _evidence():
        lines += _entry("Evidence", picture)
    lines += ["", "## Perceptron", "", "`Perceptron(standardize=True).fit(x, y)`"]
    lines += _entry("Perceptron", _perceptron())
    svms = '`SVC(C=1, gamma=0.5).fit(x, y)` and `SVMPath("rbf", gamma=0.5).fit(x, y)`'
    lines += ["", "## Support vector machines", "", svms]
    for picture in _svm():
        lines += _entry("SVM", picture)
    process = "`GaussianProcessRegressor(normalize_y=True).fit(x, y)`"
    lines += ["", "## Gaussian process", "", process]
    for picture in _process():
        lines += _entry("Process", picture)
    smooth = "`AdditiveRegressor().fit(x, y)` and `NeighborhoodComponentsAnalysis(2).fit(x, y)`"
    lines += ["", "## Smooth curves and learned metrics", "", smooth]
    for picture in _smooth():
        lines += _entry("Smooth", picture)
    lines += ["", "## Nearest neighbors", ""]
    exemplars = "NearestExemplar(n_exemplars=3, standardize=True)"
    lines += [f'`KNeighborsClassifier("auto", standardize=True)`, `{exemplars}`']
    for picture in _neighbors():
        lines += _entry("Neighbors", picture)
    lines += [
        "",
        "## Hypotheses",
        "",
        "`BoxClassifier().fit(x, y)` and `active_curve(model, x, y)`",
    ]
    for picture in _hypotheses():
        lines += _entry("Hypotheses", picture)
    theory = "`shatters(Triangles(), x)`, `pac_simulation(Boxes(2), 0.1, 0.05, n=…)`"
    lines += ["", "## Learning theory", "", f"{theory} and `bias_variance(model, f, 1.0)`"]
    for picture in _theory():
        lines += _entry("Theory", picture)
    sets = '`ConformalClassifier(model, method="jackknife+").fit(x, y)`'
    lines += ["", "## Conformal sets", "", sets]
    for picture in _conformal():
        lines += _entry("Conformal", picture)
    lines += ["", "## Clusters", "", "`KMeans(3).fit(x)` and `AgglomerativeClustering(3).fit(x)`"]
    for picture in _clusters():
        lines += _entry("Clusters", picture)
    return "\n".join(lines) + "\n"


def _entry(heading: str, picture: Display) -> list[str]:
    """One picture: its file is written, its lines are returned."""
    kind = type(picture).__name__
    file = f"{heading}-{kind.removesuffix('Display')}".lower().replace(" ", "-") + ".svg"
    (PICTURES / file).write_text(alone(picture._repr_svg_()), encoding="utf-8")
    return [
        "",
        f"### {picture.heading}",
        "",
        f"![{picture.heading}](images/gallery/{file})",
        "",
        f"`{kind}`: {_prose(picture.description)}",
    ]


def _gradient_descent() -> list[Display]:
    """Plain gradient descent on two of the three wines, by all columns and by one."""
    wine = separatrix.scan(sample("wine").path, target="cultivar").read()
    kept = wine.take(wine.block.y[:, 2] == 0)
    table = pd.read_csv(sample("wine").path)
    two = table[table["cultivar"] != table["cultivar"].max()]
    x, y = two[["flavanoids"]], two["cultivar"]
    model = separatrix.GradientDescent(learning_rate=0.05, patience=None).fit(x, y)
    return [
        TrainingTraceDisplay.from_estimator(separatrix.GradientDescent().fit(kept)),
        DescentSigmoidDisplay.from_estimator(model, x, y),
    ]


def _pairs() -> Display:
    """Every pair of four columns of the wines."""
    wine = pd.read_csv(sample("wine").path)
    x = wine[["alcohol", "flavanoids", "color_intensity", "hue"]]
    return PairwiseDisplay.from_rows(x, wine["cultivar"])


def _evidence() -> list[Display]:
    """The progression of diabetes by its columns of numbers, under two priors."""
    x = pd.read_csv(sample("diabetes").path).select_dtypes("number")
    y = x.pop("progression")
    ridge = separatrix.BayesianRidge(standardize=True)
    models = [ridge, separatrix.ARDRegression(standardize=True)]
    average = separatrix.EvidenceAveraging(models).fit(x, y)
    return [
        EvidenceCurveDisplay.from_estimator(ridge.fit(x, y)),
        EvidenceWeightDisplay.from_estimator(average),
    ]


def _bayesian_logistic() -> Display:
    """Three of the columns of two of the three wines, few enough rows for a skewed posterior."""
    wine = pd.read_csv(sample("wine").path)
    wine = wine[wine["cultivar"].isin(["cultivar B", "cultivar C"])].iloc[::3]
    x, y = wine[["alcohol", "hue", "malic_acid"]], wine["cultivar"]
    model = separatrix.BayesianLogisticRegression().fit(x, y)
    return LaplaceComparisonDisplay.from_estimator(model, n_samples=4000, random_state=0)


def _perceptron() -> Display:
    """A perceptron on all three wines."""
    wine = separatrix.scan(sample("wine").path, target="cultivar")
    return PerceptronTraceDisplay.from_estimator(separatrix.Perceptron(standardize=True).fit(wine))


def _svm() -> list[Display]:
    """Two of the three wines by two of their columns, in standard deviations."""
    columns = ["alcohol", "hue"]
    wine = pd.read_csv(sample("wine").path)
    wine = wine[wine["cultivar"].isin(["cultivar B", "cultivar C"])]
    x, y = (wine[columns] - wine[columns].mean()) / wine[columns].std(), wine["cultivar"]
    path = separatrix.SVMPath("rbf", gamma=0.5).fit(x, y)
    svm = separatrix.SVC(C=1.0, gamma=0.5).fit(x, y)
    return [
        SupportVectorDisplay.from_estimator(svm, x, y),
        MarginDisplay.from_estimator(svm, x, y),
        DualCoefficientDisplay.from_estimator(svm, y),
        SVMPathDisplay.from_estimator(path),
    ]


def _process() -> list[Display]:
    """The progression of diabetes by one column, and by five."""
    table = pd.read_csv(sample("diabetes").path)
    columns = ["bmi", "blood_pressure", "log_triglycerides", "hdl", "age"]
    y, found = table["progression"], []
    for x in (table[columns[:1]], table[columns]):
        model = separatrix.GaussianProcessRegressor(normalize_y=True).fit(x, y)
        found.append((model, x))
    return [
        PredictiveBandDisplay.from_estimator(*found[0], y, target="progression"),
        RelevanceDisplay.from_estimator(*found[1]),
    ]


def _smooth() -> list[Display]:
    """The progression of diabetes by smooth curves; what tells the three wines apart."""
    table = pd.read_csv(sample("diabetes").path)
    y, wine = table.pop("progression"), pd.read_csv(sample("wine").path)
    model = separatrix.AdditiveRegressor().fit(table, y)
    cultivar = wine.pop("cultivar")
    metric = separatrix.NeighborhoodComponentsAnalysis(2, standardize=True).fit(wine, cultivar)
    return [
        AdditiveCurveDisplay.from_estimator(model, "bmi"),
        MetricDirectionsDisplay.from_estimator(metric, wine),
    ]


def _neighbors() -> list[Display]:
    """All wines, columns in standard deviations; three means of each by two of the columns."""
    wine = separatrix.scan(sample("wine").path, target="cultivar")
    model = separatrix.KNeighborsClassifier("auto", standardize=True).fit(wine)
    table = pd.read_csv(sample("wine").path)
    means = separatrix.NearestExemplar(n_exemplars=3, standardize=True)
    means.fit(table[["flavanoids", "color_intensity"]], table["cultivar"])
    return [NeighborCountDisplay.from_estimator(model), VoronoiDisplay.from_estimator(means)]


def _hypotheses() -> list[Display]:
    """Boxes of the three wines by two of their columns; labels saved on all columns."""
    wine = pd.read_csv(sample("wine").path)
    y, x = wine.pop("cultivar"), wine
    two = x[["flavanoids", "color_intensity"]]
    model = separatrix.BoxClassifier().fit(two, y)
    logistic = separatrix.LogisticRegression(standardize=True)
    curve = separatrix.active_curve(logistic, x, y, start=6, k=4, labels=50)
    return [VersionSpaceDisplay.from_estimator(model, two, y), ActiveCurveDisplay(curve)]


def _theory() -> list[Display]:
    """Seven points and triangles; the tightest rectangle; polynomials of 2 sin(1.5 x)."""
    cubic = separatrix.bias_variance(
        separatrix.PolynomialRegression(3), _sine, 1.0, 20, 100, x=(0, 5)
    )
    orders = range(1, 6)
    every = separatrix.polynomial_bias_variance(orders, _sine, 1.0, 20, 1000, x=(0, 5))
    shattered = separatrix.vc_dimension(separatrix.Triangles()).shattered
    sizes = [10, 20, 30, 45, 60, 80, 100, 125, 150, 176]
    return [
        ShatteringDisplay(shattered, "triangles"),
        PACDisplay.from_hypotheses(separatrix.Boxes(2), 0.1, 0.05, sizes),
        BiasVarianceDisplay(list(orders), every),
        FitsDisplay(cubic),
    ]


def _sine(x: Any) -> Any:
    return 2 * np.sin(1.5 * x[:, 0])


def _complexity() -> list[Display]:
    """Which penalty of the lasso, and what more rows or flexibility would give."""
    rows = separatrix.scan(sample("diabetes").path, target="progression")
    path = separatrix.LassoPath(standardize=True).fit(rows)
    curves = separatrix.run_curve(rows).curves
    return [
        CriteriaDisplay.from_path(path, rows),
        LearningLinesDisplay(curves),
        LearningSurfaceDisplay(curves),
    ]


def _conformal() -> list[Display]:
    """Sets of labels of rows that a naive Bayes classifier has not seen."""
    x, y = load_wine(return_X_y=True)
    base = separatrix.GaussianNB()
    model = separatrix.ConformalClassifier(base, method="jackknife+").fit(x[::2, :4], y[::2])
    return [
        CategoryCoverageDisplay.from_estimator(model, x[1::2, :4], y[1::2]),
        SetSizeDisplay.from_estimator(model, x[1::2, :4]),
    ]


def _clusters() -> list[Display]:
    """All wines without their cultivar, in standard deviations."""
    wine = pd.read_csv(sample("wine").path).drop(columns="cultivar")
    x = (wine - wine.mean()) / wine.std()
    labels = separatrix.KMeans(3, n_init=5, random_state=0).fit(x).labels_
    tree = separatrix.AgglomerativeClustering(3, linkage="ward").fit(x)
    return [
        ElbowDisplay.from_rows(x),
        SilhouetteDisplay.from_rows(x, labels),
        ClusterProfileDisplay.from_rows(x, labels),
        ClusterProjectionDisplay.from_rows(x, labels),
        DendrogramDisplay.from_estimator(tree),
        DistanceConcentrationDisplay.from_rows(x),
    ]


def _prose(text: str) -> str:
    """Names of columns and the like are not markup."""
    return re.sub(r"([_*<])", r"\\\1", text)


def _screenshot(study: Any, chromium: str) -> None:
    """The top of the report, light and dark side by side."""
    from tests.report.browser import Browser

    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        write(study, page)
        browser = Browser(chromium, folder)
        clip = {"x": 0, "y": 0, "width": PAGE_WIDTH, "height": PAGE_HEIGHT, "scale": REDUCED}
        halves = []
        for dark in (False, True):
            browser.open(page, width=PAGE_WIDTH, height=PAGE_HEIGHT, dark=dark)
            shot = browser.send("Page.captureScreenshot", clip=clip)
            halves.append(Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB"))
        browser.close()
    both = Image.new("RGB", (sum(h.width for h in halves), halves[0].height))
    for i, half in enumerate(halves):
        both.paste(half, (i * halves[0].width, 0))
    both.save(HERE / "images" / "report.png", optimize=True)


def _explorer(study: Any, chromium: str) -> None:
    """Views of the explorer, light and dark: of wine, of diabetes, and of its stored model."""
    from tests.report.browser import Browser

    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.sx"
        separatrix.save(study.model, model, study=replace(study, model=None, row_names={}))
        diabetes = sample("diabetes").path, "progression", model
        wine = sample("wine").path, "cultivar", None
        pages = {
            "explore": (*wine, "boundary?x=flavanoids&y=color_intensity", 660),
            "explore-line": (*diabetes, "line?model=process&draws=5", 640),
            "explore-model": (*diabetes, "model", 880),
        }
        browser = Browser(chromium, folder)
        for name, (table, target, stored, view, height) in pages.items():
            page = separatrix.explore(table, target, model=stored, browser=False)
            for theme in ("light", "dark"):
                browser.open("about:blank")
                browser.open(f"{page.address}#{view}", height=height, dark=theme == "dark")
                while not browser.evaluate(FITTED):
                    time.sleep(0.2)
                time.sleep(1.0)  # the picture of a stored model follows its certificate
                clip = {"x": 0, "y": 0, "width": 1180, "height": height, "scale": 1}
                shot = browser.send("Page.captureScreenshot", clip=clip)
                picture = Image.open(io.BytesIO(base64.b64decode(shot["data"])))
                few = picture.convert("RGB").quantize(256)
                few.save(HERE / "images" / f"{name}-{theme}.png", optimize=True)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
