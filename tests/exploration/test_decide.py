"""The view of decisions, in a browser."""

import shlex
from xml.etree import ElementTree

import numpy as np
import pytest

import separatrix as sx
from separatrix.cli.fit import fit, parse_costs
from separatrix.exploration import read_table
from separatrix.exploration.views.decide import CostMatrix
from separatrix.probability.costs import costs_of
from separatrix.probability.roc import coverage_risk
from separatrix.samples import sample
from separatrix.selection.folds import folds_of
from tests.exploration.conftest import figure, settled

COSTS = [[0, 2, 1], [1, 0, 1], [7, 1, 0]]
SEVERAL = "#decide?model=lda&costs=[[0,2,1],[1,0,1],[7,1,0]]&reject=0.05"
TWO = "#decide?model=naive_bayes&calibration=isotonic&reject=0.2"


@pytest.fixture(scope="module")
def clinic():
    """Two thousand rows with levels and missing values, and two classes."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2000, 3))
    ward = rng.choice(["north", "south"], 2000)
    score = 1.5 * x[:, 0] - x[:, 1] + (ward == "south")
    state = np.where(rng.logistic(size=2000) < score, "ill", "well")
    x[rng.random(2000) < 0.05, 2] = np.nan
    return {"age": x[:, 0], "dose": x[:, 1], "marker": x[:, 2], "ward": ward, "state": state}


def out_of_fold(table, target, model):
    """Labels, codes and probabilities, computed without the view."""
    rows, y = table.scan(target), table.labels(target)
    labels, codes = np.unique(y, return_inverse=True)
    folds = folds_of(5, len(y), codes=codes)
    parts = [model.fit(rows.take(a)).predict_proba(rows.take(b)) for a, b in folds.pairs]
    return labels, codes, folds.out_of_fold(parts)


def test_numbers_are_the_librarys(visit):
    tab = visit("wine", "cultivar", SEVERAL)
    model = sx.CalibratedClassifier(sx.LinearDiscriminantAnalysis(), method="platt")
    labels, codes, p = out_of_fold(read_table(sample("wine").path), "cultivar", model)
    costs = costs_of(np.column_stack([COSTS, [0.05] * 3]), labels)
    decision = costs.decide(p)
    for i in range(3):
        for j in range(4):
            shown = tab.locator(f"[data-cell='{i}-{j}']").text_content()
            assert int(shown) == np.sum((codes == i) & (decision == j))
    assert figure(tab, "mean") == f"{costs.with_reject[codes, decision].mean():.4g}"
    assert figure(tab, "area") == f"{sx.roc_curve(codes == 2, p[:, 2]).area:.4g}"
    error = sx.expected_calibration_error(codes == 2, p[:, 2])
    assert figure(tab, "calibration").split()[0] == f"{100 * error:.3g}"
    tab.get_by_label("Cost of predicting cultivar A where cultivar B is true").fill("3")
    settled(tab)
    changed = costs_of([[0, 2, 1, 0.05], [3, 0, 1, 0.05], [7, 1, 0, 0.05]], labels)
    assert figure(tab, "mean") == f"{changed.with_reject[codes, changed.decide(p)].mean():.4g}"


def test_the_rule_of_the_page_is_the_librarys(visit):
    """Decisions and curves for many costs, with probabilities that make ties."""
    tab = visit("wine", "cultivar", SEVERAL)
    rng = np.random.default_rng(0)
    for k in (2, 3, 5):
        p = rng.multinomial(4, np.full(k, 1 / k), 300) / 4
        truth = rng.integers(0, k, 300)
        for _ in range(6):
            matrix = rng.integers(0, 5, (k, k)) * (1 - np.eye(k))
            reject = float(rng.integers(0, 4)) / 2
            costs = costs_of(np.column_stack([matrix, np.full(k, reject)]), np.arange(k))
            found = tab.evaluate(
                """async ([p, truth, k, costs, reject]) => {
                  const rule = await import(document.querySelector('script[src]').src
                    .replace('main.js', 'views/decide/rule.js'));
                  const rows = {p: p.flat(), truth, k};
                  const made = rule.decide(rows, costs, reject);
                  const curve = rule.coverageRisk(rows, made, costs);
                  const {total} = rule.outcome(rows, made.decision, costs, reject);
                  return {decision: [...made.decision], total, ...curve};
                }""",
                [p.tolist(), truth.tolist(), k, matrix.tolist(), reject],
            )
            decision = costs.decide(p)
            assert found["decision"] == decision.tolist()
            assert found["total"] == costs.with_reject[truth, decision].sum()
            expected = costs.expected(p)
            curve = coverage_risk(expected.min(1), matrix[truth, expected.argmin(1)])
            np.testing.assert_array_equal(found["coverage"], curve.coverage)
            np.testing.assert_allclose(found["risk"], curve.risk, rtol=1e-14)
            assert found["area"] == pytest.approx(curve.area)


def test_sliders_by_keys_are_linked_and_the_link_reproduces(visit, clinic):
    tab = visit(clinic, "state", TWO)
    dear = tab.get_by_label("Cost: well taken for ill")
    assert (
        tab.get_by_label("Threshold of well against ill").get_attribute("aria-valuetext") == "0.5"
    )
    tab.get_by_label("Cost: ill taken for well").focus()
    for _ in range(30):
        tab.keyboard.press("ArrowRight")
    settled(tab)
    threshold = tab.get_by_label("Threshold of well against ill")
    assert float(threshold.get_attribute("aria-valuetext")) == pytest.approx(2 / 3, abs=2e-3)
    threshold.focus()
    tab.keyboard.press("Home")
    settled(tab)
    assert float(dear.get_attribute("aria-valuetext")) > 2.9
    assert float(figure(tab, "threshold").split()[0]) == pytest.approx(0.01, abs=1e-4)
    shown = [figure(tab, name) for name in ("mean", "rejected", "error", "threshold")]
    again = visit(clinic, "state", "#" + tab.url.partition("#")[2])
    assert [figure(again, name) for name in ("mean", "rejected", "error", "threshold")] == shown


def test_points_are_dragged_along_their_curves(visit, clinic):
    tab = visit(clinic, "state", TWO)
    for plane, place in ((2, (0.5, 0.5)), (1, (0.2, 0.2))):
        box = tab.locator(".four svg").nth(plane).bounding_box()
        x, y = (
            box[side] + part * box[size]
            for side, size, part in zip(("x", "y"), ("width", "height"), place, strict=True)
        )
        tab.mouse.move(x - 20, y)
        tab.mouse.down()
        tab.mouse.move(x, y)
        tab.mouse.up()
        settled(tab)
        if plane == 2:
            covered = float(figure(tab, "coverage").split()[0])
            assert 42 < covered < 52
    assert "costs=" in tab.url
    assert tab.locator("#status").inner_text().startswith("Mean cost")


def test_the_setting_is_code_that_runs(visit):
    tab = visit("wine", "cultivar", SEVERAL)
    tab.get_by_role("button", name="Python").click()
    code = tab.locator("dialog[open] code").inner_text()
    made = {}
    exec(code, made)
    assert f"{made['mean_cost']:.4g}" == figure(tab, "mean")
    tab.keyboard.press("Escape")
    tab.get_by_role("button", name="Command").click()
    words = shlex.split(tab.locator("dialog[open] code").inner_text())
    assert words[:2] == ["separatrix", "fit"]
    given = fit.make_context("fit", words[2:]).params
    assert (given["targets"], given["models"], given["reject"]) == (("cultivar",), "lda", 0.05)
    named = costs_of(parse_costs(given["costs"]), np.array([f"cultivar {c}" for c in "ABC"]))
    np.testing.assert_array_equal(named.matrix, COSTS)


def test_names_with_signs_go_into_a_file(tmp_path, monkeypatch):
    chosen = CostMatrix(((0.0, 3.0), (0.5, 0.0)), None)
    words, before = chosen.options(["it's, a:b", "c=d"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "costs.json").write_text(shlex.split(before)[2])
    found = parse_costs(words[words.index("--costs") + 1])
    assert found == {"it's, a:b": {"c=d": 3.0}, "c=d": {"it's, a:b": 0.5}}


def test_pictures_are_saved_together_and_alone(visit):
    tab = visit("wine", "cultivar", SEVERAL)
    for name, planes in (("Save picture", 4), ("Save picture: Calibration", 0)):
        with tab.expect_download() as download:
            tab.get_by_role("button", name=name, exact=True).click()
        root = ElementTree.parse(download.value.path()).getroot()
        assert len(root.findall("{http://www.w3.org/2000/svg}svg")) == planes


def test_pictures_follow_the_hand(visit, clinic):
    """From a slider's event to the picture after it, at two thousand rows."""
    tab = visit(clinic, "state", TWO)
    times = tab.evaluate(
        """async () => {
          const slider = document.querySelector('.hand input[type=range]');
          const times = [];
          for (let i = 0; i < 40; i += 1) {
            slider.value = 60 + i;
            await new Promise(requestAnimationFrame);
            const start = performance.now();
            slider.dispatchEvent(new Event('input', {bubbles: true}));
            times.push(performance.now() - start);
          }
          return times;
        }"""
    )
    assert np.median(np.reshape(times, (4, 10)), axis=1).min() < 16.7


def test_true_and_false_are_called_as_by_the_command():
    table = read_table(sample("houses").path)
    assert table.classes["garden"] == ("False", "True")
    assert set(table.labels("garden")) == {"False", "True"}


def test_abstention_is_on_by_default_where_it_does_not_raise_the_mean_cost(visit):
    tab = visit("wine", "cultivar", "#decide")
    assert not tab.get_by_label("May abstain").is_checked()
    tab.get_by_label("May abstain").check()
    settled(tab)
    assert tab.get_by_label("May abstain").is_checked()
    mean = float(figure(tab, "mean"))
    words = figure(tab, "sentence")
    assert mean > float(words.split("and ")[1].split()[0])  # and so it was off
    assert "abstain=true" in tab.url


def test_names_of_classes_are_whole(visit):
    tab = visit("wine", "cultivar", "#decide")
    heads = tab.locator(".costs th").all_inner_texts()
    assert heads == ["cultivar A", "cultivar B", "cultivar C"] * 2
    assert "…" not in tab.locator("#view").text_content()
