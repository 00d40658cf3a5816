"""What is printed and what a notebook shows: the same sentences and tables."""

from __future__ import annotations

import sys
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import separatrix as sx
from separatrix.notebook import MOST_LINES, Details, Grid, Sentence, as_html, as_text
from separatrix.samples import sample
from separatrix.verification.verdict import PROVED, REFUTED, Claim, Verification

HOSTILE = '<script>alert("x")</script>&'


def table() -> Any:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    return {HOSTILE: x[:, 0], "b": x[:, 1], "y": x @ [1.0, 2.0] + rng.normal(size=60)}


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    rows = sx.scan(table(), target="y")
    model = sx.LinearRegression().fit(rows)
    boxes = sx.BoxClassifier(concept=1).fit([[1.0], [2.0], [6.0]], [1, 1, 0])
    labels = np.arange(60) % 2
    return {
        "rows": rows.read(),
        "stream": sx.scan(sample("diabetes").path, target="progression"),
        "summary": model.summary(),
        "logistic": sx.LogisticRegression(C=np.inf).fit(rows.read().block.x, labels).summary(),
        "posterior": sx.BayesianRidge().fit(rows).summary(),
        "certificate": model.certificate_,
        "verification": sx.verify(model, table()),
        "criteria": sx.criteria(sx.RidgePath().fit(rows)),
        "study": sx.run_study(rows, models=["linear"], verbose=False),
        "clusters": sx.run_clusters(rows, k=2, verbose=False),
        "query": sx.query(boxes, [[1.5], [4.1], [9.0]], k=2),
        **results_of_functions(rows.read().block.x, labels),
    }


def results_of_functions(x: Any, labels: Any) -> dict[str, Any]:
    p = 1.0 / (1.0 + np.exp(-x[:, 0]))
    careful = sx.RejectOption(sx.GaussianNB(), costs=0.1).fit(x, labels)
    return {
        "roc": sx.roc_curve(labels, p),
        "reliability": sx.reliability(labels, p),
        "coverage and risk": careful.coverage_risk(x, labels),
        "evidence": sx.BayesianRidge().fit(x, p).evidence_curve(),
        "views": sx.hyperplane_views(x, labels),
        "tree": sx.AgglomerativeClustering(2).fit(x).dendrogram_,
        "common point": sx.linear_separability(x, labels),
        "separable": sx.linear_separability(x, x[:, 0] > 0.0),
        "hulls": sx.nearest_hull_points(x[:5], x[5:10] + 20.0),
        "median": sx.geometric_median(x),
        "medoid": sx.medoid(["cat", "cut", "horse"], "edit"),
        "expansion": sx.KernelPerceptron().fit(x, labels).expansion_,
        "additive": sx.AdditiveRegressor().fit(x, p).summary(),
        "term": sx.AdditiveRegressor().fit(x, p).terms_[0],
        "extrapolation": sx.check_extrapolation(sx.Ridge().fit(x, p), 2.0 * x),
        "export": sx.export_model(sx.LinearRegression().fit(x, p), "python"),
    }


def test_sums_say_of_what_they_are() -> None:
    moments = sx.scan(np.ones((1, 3)), [1.0]).reduce(sx.Moments())
    assert repr(moments) == "Moments of 3 columns and 1 target over 1 row"


def test_functions_to_be_minimized_say_of_what_they_are() -> None:
    assert repr(sx.Quadratic(np.eye(2), [1.0, 0.0])) == "½ xᵀA x − b·x of 2 variables"
    loss = sx.LogisticLoss([[0.0], [1.0], [2.0]], [0, 1, 1], alpha=0.5)
    assert repr(loss) == "Logistic loss of 3 rows and 1 column, with α = 0.5"
    factor = sx.scan(np.ones((3, 2)), [1.0, 2.0, 3.0]).reduce(sx.TriangularFactor())
    assert repr(factor) == "Triangular factor of 2 columns and 1 target over 3 rows"


def test_proved_claims_of_one_name_are_one_line_and_say_a_fact_once(shown) -> None:
    claims = (
        Claim("rows", PROVED, "Same digest."),
        Claim("rows", PROVED, "Rows: 4."),
        Claim("rows", PROVED, "Rows: 4."),
        Claim("rows", REFUTED, "Rows: 5."),
    )
    lines = Verification("Model", 4, claims).lines
    assert [str(line) for line in lines] == [
        "rows: proved. Same digest. Rows: 4.",
        "rows: refuted. Rows: 5.",
    ]
    assert str(shown["verification"]).count("rows: proved") == 1


def test_an_exact_solution_says_so_and_one_number_once(shown) -> None:
    text = str(shown["certificate"])
    assert "Solved exactly, to about" in text
    assert "lower bound" not in text
    assert "duality gap" not in text
    worse = replace(shown["certificate"], gap=1.0)
    assert not worse.holds
    assert "duality gap 1.0e+00" in str(worse)
    assert ", lower bound 3 " in str(replace(worse, primal=4.0, dual=3.0))


class Balance(HTMLParser):
    """Elements that are opened and not closed, and all that are opened."""

    def __init__(self) -> None:
        super().__init__()
        self.under_way: list[str] = []
        self.opened: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.under_way.append(tag)
        self.opened.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.under_way.pop() == tag


def test_what_is_printed_is_the_text_and_notebooks_show_it_too(shown) -> None:
    for name, thing in shown.items():
        text, html = str(thing), thing._repr_html_()
        assert repr(thing) == text, name
        assert len(text) < 6000, name
        assert "array(" not in text, name
        parser = Balance()
        parser.feed(html)
        assert not parser.under_way, name
        assert "script" not in parser.opened, name
        assert len(html) < 20_000, name


def test_rows_show_kinds_missing_values_and_levels() -> None:
    rows = sx.scan({"u": [1.0, None, 3.0, 4.0], "v": ["a", "b", "a", "c"], "y": [1.0, 2, 3, 4]})
    text = str(rows.read())
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert lines["4"][:2] == ["4", "rows"]
    assert lines["u"] == ["u", "numeric", "1", "1", "to", "4"]
    assert lines["v"][:3] == ["v", "discrete", "–"]
    assert "a, b, c" in text


def test_a_certificate_is_red_where_it_does_not_hold(shown) -> None:
    holding = shown["certificate"]
    broken = replace(holding, gap=float("nan"))
    assert 'badge good">holds' in holding._repr_html_()
    assert 'badge bad">does not hold' in broken._repr_html_()


def test_long_tables_are_cut_in_their_middle() -> None:
    grid = Grid(("a", "b"), [(str(i), "x") for i in range(1000)], strong=999)
    text, html = as_text([grid]), as_html([grid])
    assert len(text.splitlines()) == MOST_LINES + 2
    assert "… 940 lines …" in text
    assert "… 940 lines …" in html
    assert '<tr class="strong"><td class="left">999' in html
    few = as_text([Sentence("before"), Grid(("a",), [("1",)]), Details("none", ["of it"])])
    assert few == "before\n\na\n1"


def test_a_study_announces_what_it_inferred_or_nothing(capsys) -> None:
    rows = sx.scan(table(), target="y")
    sx.run_study(rows, models=["linear"])
    printed = capsys.readouterr()
    assert "override: `task='classification'`" in printed.err
    assert "To be compared with the baseline: linear" in printed.err
    assert not printed.out
    sx.run_clusters(rows, k=2)
    assert capsys.readouterr().err
    sx.run_study(rows, models=["linear"], verbose=False)
    sx.run_clusters(rows, k=2, verbose=False)
    reported: list[str] = []
    sx.run_study(
        rows, models=["linear"], progress=lambda stage, done, total: reported.append(stage)
    )
    silent = capsys.readouterr()
    assert not silent.err
    assert not silent.out
    assert reported[-1] == "done"


def test_a_terminal_has_one_line_that_is_erased_at_the_end(capsys, monkeypatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    sx.run_study(sx.scan(table(), target="y"), models=["linear"])
    last = capsys.readouterr().err.rsplit("\n", 1)[-1]
    assert "comparing linear" in last
    assert last.endswith("\r")
    assert not last.rsplit("\r", 2)[-2].strip()


def test_a_notebook_has_a_bar_in_one_place(monkeypatch, capsys) -> None:
    outputs: list[list[str]] = []

    def display(html: str, display_id: bool = False) -> Any:
        outputs.append([html])
        return SimpleNamespace(update=outputs[-1].append)

    fake = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(HTML=str, display=display))
    sx.run_study(sx.scan(table(), target="y"), models=["linear"])
    inferred, bar = outputs
    assert "What was inferred" in inferred[0]
    assert "comparing baseline" in bar[0]
    assert bar[-1] == ""
    assert not capsys.readouterr().err
