"""The page as text: whole, self-contained, accessible, the same bytes every time."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from separatrix import MeanRegressor
from separatrix.messages import InputError
from separatrix.probability.costs import costs_of
from separatrix.report import render, write
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.schema import Kind
from separatrix.study.describe import describe
from separatrix.study.result import Predictions, Score, TrainingRows
from tests.report.conftest import leverage_of
from tests.sketches import sketched_page

EACH = pytest.mark.parametrize(
    "name", ["linear", "lasso", "wine", "cancer", "bare", "probable", "rejecting"]
)
VOID = {"meta", "br", "link", "img", "input", "hr", "wbr"}


class Page(HTMLParser):
    """Checks nesting while reading, and keeps what the tests ask about."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.tags, self.headings = [], [], [], []
        self.svgs, self.text = [], []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if tag in {"h1", "h2", "h3", "h4"}:
            self.headings.append(int(tag[1]))
        if tag == "svg":
            self.svgs.append([attrs])
        elif "svg" in self.open and tag in {"title", "desc"}:
            self.svgs[-1].append((tag, attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data):
        if {"script", "style", "svg"} & set(self.open):
            return
        if self.tags and self.tags[-1][0] == "wbr":  # the word goes on
            self.text[-1] += data
        else:
            self.text.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).replace("\u202f", " ").split())


@EACH
def test_parses_and_every_part_is_named(pages, name):
    page = Page(pages[name])
    assert len(page.ids) == len(set(page.ids))
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(page.headings, page.headings[1:], strict=False))
    assert dict(page.tags)["html"]["lang"] == "en"
    heads = [attrs for tag, attrs in page.tags if tag == "th"]
    assert heads
    assert all(attrs.get("scope") in {"row", "col"} for attrs in heads)
    links = [attrs["href"][1:] for tag, attrs in page.tags if tag == "a"]
    assert set(links) <= set(page.ids)


@EACH
def test_every_picture_has_a_text_alternative(pages, name):
    page = Page(pages[name])
    for attrs, *labels in page.svgs:
        assert attrs["role"] == "img"
        assert [tag for tag, _ in labels[:2]] == ["title", "desc"]
        assert attrs["aria-labelledby"].split() == [a["id"] for _, a in labels[:2]]
    assert sum(tag == "figcaption" for tag, _ in page.tags) == len(page.svgs)
    assert len(page.svgs) >= 2


@EACH
def test_nothing_is_fetched_and_the_file_is_small(pages, name):
    text = pages[name]
    assert len(text.encode()) < 500_000
    assert "http://" not in text
    assert "https://" not in text
    page = Page(text)
    assert not [t for t, a in page.tags if t in {"link", "img", "iframe", "object"} or "src" in a]
    assert "@import" not in text
    assert not [u for u in re.findall(r"url\(([^)]*)", text) if not u.startswith(("#", "data:"))]
    policy = next(a["content"] for t, a in page.tags if a.get("http-equiv"))
    assert "default-src 'none'" in policy
    script = re.search(r"<script>(.*?)</script>", text, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert len(script) < 3_000


@pytest.mark.parametrize("name", ["linear", "wine"])
def test_same_study_same_bytes(studies, pages, name):
    assert render(studies[name]) == pages[name]


def test_order_of_the_sections(pages):
    sections = [a["id"] for t, a in Page(pages["linear"]).tags if t == "section"]
    assert sections == [
        "data",
        "leaderboard",
        "test",
        "model",
        "certificate",
        "diagnostics",
        "learning",
        "again",
        "inferred",
    ]


def test_verdict_compares_the_test_score_with_the_baseline(linear, pages):
    words = Page(pages["linear"]).words
    score, base = linear.test[0], linear.baseline_test[0]
    assert "How well can progression be predicted from the 10 other columns" in words
    assert f"root mean squared error is {score.value:.2f}" in words
    assert f"the model’s is {100 * (1 - score.value / base.value):.0f} % lower" in words
    assert "linear was chosen." in words
    assert "Better than the baseline Yes" in words
    assert words.index("linear was chosen.") < words.index("the simplest model")
    assert words.index("Predicted against actual values") < words.index("The data")
    assert "used once" in words
    assert "due to chance" not in words
    close = Score("rmse", base.value + 1, base.value - 5, base.value + 7)
    assert "may be due to chance" in sketched_page(replace(linear, test=(close,)))


def test_coefficients_have_names_and_intervals(linear, pages):
    words = Page(pages["linear"]).words
    summary = linear.model.summary()
    assert f"σ = {summary.sigma:.4g}" in words
    assert "Standard error" in words
    assert str(linear.model.certificate_).split(".")[0] in words
    for title in ("Normal Q–Q plot of the residuals", "Residuals against leverage", "Coefficients"):
        assert title in words


def test_lengths_of_coefficients_never_mix_units(linear, bare, pages):
    """Per deviation by the rows or, without them, by the profile; else in standard errors."""
    for name in ("linear", "bare"):
        assert "change of the prediction per standard deviation" in pages[name]
    unknown = sketched_page(replace(bare, columns=()))
    assert "standard errors from zero" in unknown
    largest = r"Coefficients \(.*?\). Largest: (\w+)"
    by_rows, by_profile = (re.search(largest, pages[n])[1] for n in ("linear", "bare"))
    scaled = np.abs(linear.model.coef_ * linear.training.scale)
    assert by_rows == by_profile == linear.training.names[int(np.argmax(scaled))]


def test_moments_are_described_as_moments(bare):
    text = sketched_page(replace(bare, source="a.moments"))
    assert "load_moments(&#39;a.moments&#39;)" in text
    assert "separatrix.scan(&#39;a.moments" not in text


def test_lasso_page_has_the_path_and_the_reason_for_no_intervals(pages):
    words = Page(pages["lasso"]).words
    assert "Regularization path" in words
    assert "No intervals." in words
    assert "Leverage is defined for least squares" in words
    assert "alpha = 0.032" in words


def test_classifiers_show_decisions_on_the_test_part(pages):
    two, three = Page(pages["cancer"]).words, Page(pages["wine"]).words
    for title in ("Confusion matrix", "Signed distance to the decision boundary"):
        assert title in two
        assert title in three
    assert "ROC curve with convex hull" in two
    assert "Precision–recall curve" in two
    assert "ROC curve with convex hull" not in three
    assert "ROC curves, one class against the rest" in three
    assert "has no probabilities" in three
    assert "class_0" in three


def test_odds_ratios_are_given_by_unit_and_by_deviation(probable, pages):
    words = Page(pages["probable"]).words
    summary = probable.model.summary()
    j = 2
    scale = probable.training.scale[j - 1]
    assert summary.names[j] == "mean texture"
    by_unit, by_deviation = (
        f"{np.exp(summary.estimates[j] * s):.3g} ({np.exp(summary.intervals[j, 0] * s):.3g} to "
        f"{np.exp(summary.intervals[j, 1] * s):.3g})"
        for s in (1.0, scale)
    )
    assert f"{by_unit} {by_deviation}" in words
    assert "Odds compare malignant with benign" in words
    assert "change of the log odds per standard deviation" in pages["probable"]
    without = replace(probable, training=None)
    assert "per standard deviation (95 %)" not in Page(sketched_page(without)).words


def test_probabilities_have_a_part_of_their_own(pages):
    words = Page(pages["probable"]).words
    for title in ("Calibration curve", "Risk–coverage curve", "Decision boundary"):
        assert title in words
    assert "Not calibrated." in words
    assert "platt 0.2200" in words
    assert "Cost of each answer" not in words
    assert "Probabilities and rejection" not in Page(pages["linear"]).words


def test_covariances_are_given_by_class(probable, pages):
    words = Page(pages["probable"]).words
    assert "Neither class is normal." in words
    assert str(probable.covariance_tests.equality) in words
    assert "Class third has 2 rows." in words
    for label, test in probable.covariance_tests.normality.items():
        assert f"{label} {test.skewness:.3g}" in words


def test_both_measures_are_in_the_leaderboard(pages):
    words = Page(pages["probable"]).words
    assert "Log loss, mean over folds" in words
    assert "0.2200" in words
    assert "11.0 %" in words


def test_rejections_and_their_cost_are_shown(rejecting, pages):
    words = Page(pages["rejecting"]).words
    assert "Every error costs 1, and a rejection 0.2." in words
    assert "Cost of each answer (column)" not in words
    n_rejected = int(np.sum(rejecting.test_predictions.predicted == "reject"))
    assert n_rejected > 0
    assert f"{n_rejected} rejected" in words
    assert "At a rejection cost of 0.2" in words
    assert "Rejected (grey)" in words
    assert "At the threshold 0 the" not in words
    assert "At the threshold 0 the" in Page(pages["probable"]).words


def test_costs_that_differ_by_class_are_a_table(rejecting):
    costs = costs_of([[0, 5, 1], [1, 0, 0.5]], np.array(rejecting.classes))
    with_costs = replace(rejecting, decision=replace(rejecting.decision, costs=costs))
    text = sketched_page(with_costs)
    words = Page(text).words
    assert "Cost of each answer (column) by true class (row)" in words
    assert "benign 0 5 1 malignant 1 0 0.5" in words
    assert "Mean cost 0.0700" in words
    assert "costs=[[0.0, 5.0], [1.0, 0.0]]" in text
    plain = sketched_page(rejecting)
    assert "costs=" not in plain
    assert "reject=0.2" in plain


def test_the_verdict_leads_with_the_error_rate(probable, rejecting, pages):
    words = Page(pages["probable"]).words
    error = next(s for s in probable.test if s.metric == "error")
    assert f"its error rate is {100 * error.value:.1f} %" in words
    assert "The log loss is 0.2100 (the baseline’s: 0.6600)" in words
    assert "With the reject option" not in words
    share = 100 * rejecting.decision.coverage.value
    assert f"With the reject option its coverage is {share:.1f} %" in Page(pages["rejecting"]).words


def test_a_test_set_without_errors_is_described(probable):
    p = np.where(np.asarray(probable.test_predictions.truth)[:, None] == probable.classes, 0.9, 0.1)
    certain = replace(
        probable.test_predictions, predicted=probable.test_predictions.truth, probabilities=p
    )
    words = Page(sketched_page(replace(probable, test_predictions=certain))).words
    assert "rejection cannot lower the risk" in words
    assert "Risk against coverage" not in words


def test_a_boundary_that_cannot_be_drawn_states_why(pages):
    assert "two numeric columns that vary" in Page(pages["cancer"]).words


def test_warnings_show_code_reason_and_how_to_mute(pages):
    words = Page(pages["cancer"]).words
    assert "SEP001 proline is a combination of other columns." in words
    assert "separatrix explain SEP001" in words
    assert 'warnings.filterwarnings("ignore", "SEP001")' in words


def test_hostile_names_are_text(linear):
    evil = "<script>alert(1)</script>"
    profile = ColumnProfile(evil, Kind.DISCRETE, 9, 3, levels={"</table>": 4, '"&': 2})
    study = replace(
        linear,
        target=evil,
        source=f"/tmp/{evil}.csv",
        columns=(*linear.columns, profile),
        messages=(f"{evil} was --task `regression`.",),
        warnings=(evil,),
        command=f"separatrix fit '{evil}'",
        reason=evil,
    )
    text = render(study)
    assert text.count("<script>") == 1
    page = Page(text)
    assert evil in page.words
    assert "3 (33.3 %)" in page.words


def test_many_columns_are_cut_and_it_is_stated(linear):
    wide = tuple(ColumnProfile(f"c{i}", Kind.NUMERIC, 9, 0, 0.0, 1.0) for i in range(3000))
    text = render(replace(linear, columns=wide))
    assert "The first 100 of 3,000 columns are shown." in text
    assert len(text.encode()) < 500_000


def test_large_tables_stay_small_pages(linear):
    rng = np.random.default_rng(0)
    n = 50_000
    x, noise = rng.normal(size=(n, 10)), rng.normal(size=n)
    part = TrainingRows(
        x[:, 0] + noise, predicted=x[:, 0], rows=np.arange(n), leverage=leverage_of(x)
    )
    text = render(replace(linear, training=part, n_train=n))
    assert len(text.encode()) < 500_000
    part = TrainingRows(
        noise[:2000], predicted=x[:2000, 0], rows=np.arange(2000), leverage=leverage_of(x[:2000])
    )
    assert len(render(replace(linear, training=part, n_train=2000)).encode()) < 500_000


def test_when_the_baseline_wins_it_is_stated(linear):
    described = describe(
        MeanRegressor().fit(np.zeros((len(linear.training.y), 1)), linear.training.y)
    )
    study = replace(linear, winner="baseline", description=described, test=linear.baseline_test)
    words = Page(sketched_page(study)).words
    assert "None of 2 models beats the baseline" in words
    assert "MeanRegressor uses no column" in words
    assert "Largest coefficients" not in words


def test_a_study_without_rows_states_what_is_missing(pages):
    words = Page(pages["bare"]).words
    assert "There is no test set" in words
    assert "residuals cannot be drawn" in words
    assert "Nothing: everything was specified." in words


def test_test_part_of_one_class_has_no_roc_but_a_reason(cancer):
    test = cancer.test_predictions
    keep = np.asarray(test.truth) == "benign"
    one = Predictions(test.rows[keep], test.truth[keep], test.predicted[keep], test.scores[keep])
    words = Page(sketched_page(replace(cancer, test_predictions=one))).words
    assert "A ROC curve compares two classes; the rows hold 1." in words
    assert "Confusion" in words


def test_written_whole_or_not_at_all(bare, pages, tmp_path):
    path = tmp_path / "report.html"
    write(bare, path)
    assert path.read_text(encoding="utf-8") == pages["bare"]
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(InputError, match="full"):
        write(bare, "/dev/full")
    with pytest.raises(InputError, match="directory"):
        write(bare, tmp_path / "absent" / "report.html")
