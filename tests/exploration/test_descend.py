"""The view of descent, in a browser."""

import contextlib
import io
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import separatrix as sx
from separatrix.exploration import read_table
from separatrix.exploration.views.descend import perceptron_updates, surface
from separatrix.samples import sample
from tests.exploration.conftest import figure, settled

TWO = "x=alcohol&y=flavanoids&label=cultivar%20A"


@pytest.fixture(scope="module")
def wine():
    X, y = read_table(sample("wine").path).arrays(["alcohol", "flavanoids"], "cultivar")
    return X, y == "cultivar A"


def number(tab, name):
    return float(figure(tab, name).replace("−", "-"))


def shown(value, digits=6):
    return float(f"{value:.{digits}g}")


@pytest.mark.parametrize("loss", ["squares", "logistic", "hinge"])
def test_the_gradient_is_the_slope_and_vanishes_at_the_librarys_minimum(wine, loss):
    X, y = wine
    f = surface(X, y.astype(float) if loss == "squares" else y, loss, intercept=False)
    b, h = np.array([0.3, -0.7]), 1e-6
    slope = [(f.value(b + h * e) - f.value(b - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(f.gradient(b), slope, atol=1e-6)
    best, proof = f.minimum()
    assert proof.holds
    around = best + 1e-4 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    assert (f.values(around) > f.value(best)).all()
    if loss == "logistic":
        np.testing.assert_allclose(f.gradient(best), 0, atol=1e-8)
        # the Hessian is the slope of the gradient, and nowhere above L
        e = np.array([h, 0.0])
        slope = (f.gradient(best + e) - f.gradient(best - e)) / (2 * h)
        np.testing.assert_allclose(f.hessian(best)[0], slope, atol=1e-6)
        assert np.linalg.eigvalsh(f.hessian(best))[-1] <= f.lipschitz()


def test_updates_end_at_the_librarys_perceptron(wine):
    X, y = wine
    apart = np.where(y, X[:, 1] > 2.8, X[:, 1] < 2.0)  # separable by the second column
    X, y = (X[apart] - X.mean(axis=0)) / X.std(axis=0), y[apart]
    found = perceptron_updates(X, y.astype(np.int64), 200, 10_000)
    model = sx.Perceptron(order="given", max_epochs=200).fit(X, y)
    np.testing.assert_array_equal(found.weights[-1, 1:], model.coef_[0])
    assert found.converged
    assert len(found.rows) == model.mistakes_[0] <= model.mistake_bound_


def test_numbers_are_the_librarys_and_a_long_step_diverges(visit, wine):
    tab = visit("wine", "cultivar", f"#descend?loss=squares&terms=two&{TWO}&rate=1&steps=500")
    X, y = wine
    f = surface(X, y.astype(float), "squares", intercept=False)
    model = sx.LinearRegression(fit_intercept=False).fit(f.z, f.y)
    least = 0.5 * np.mean((f.y - model.predict(f.z)) ** 2)
    largest = np.linalg.eigvalsh(np.cov(f.z.T, bias=True))[-1]
    assert number(tab, "least") == number(tab, "loss") == shown(least)
    assert number(tab, "bound") == shown(2 / largest, 5)
    assert number(tab, "distance") < 1e-6
    assert figure(tab, "certificate") == str(model.certificate_)
    assert figure(tab, "status") == "The gradient has vanished."
    tab.get_by_label("Step size").press("End")
    settled(tab)
    assert figure(tab, "status") == "It diverges: the step is too long."
    assert number(tab, "step") > number(tab, "bound")


def test_the_start_is_dragged_and_the_link_and_python_repeat_the_descent(visit):
    tab = visit("wine", "cultivar", f"#descend?loss=logistic&terms=two&{TWO}&steps=12&rate=0.5")
    before = figure(tab, "loss")
    box = tab.locator(".picture svg:visible").first.bounding_box()
    tab.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    tab.mouse.down()
    tab.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.2 * box["height"], steps=4)
    tab.mouse.up()
    settled(tab)
    tab.locator(".picture svg:visible").first.press("ArrowRight")
    settled(tab)
    assert figure(tab, "loss") != before
    loss, address = figure(tab, "loss"), tab.url
    tab.get_by_role("button", name="Python").click()
    code = tab.locator("#code code").inner_text()
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, names := {})
    assert shown(names["values"][-1]) == float(loss)
    tab.get_by_role("button", name="Close").click()
    with tab.expect_download() as saved:
        tab.get_by_role("button", name="Save picture").click()
    assert ET.parse(saved.value.path()).getroot().tag.endswith("svg")
    tab.get_by_label("A step back").click()
    settled(tab)
    assert float(figure(tab, "loss")) == shown(names["values"][-2])
    again = visit("wine", "cultivar", "#" + address.split("#")[1])
    assert figure(again, "loss") == loss


def test_the_sigmoid_of_one_column_after_every_step(visit, wine):
    """Steps of plain gradient descent on standardized alcohol, and their line in its own units."""
    link = "#descend?loss=logistic&terms=intercept&x=alcohol&label=cultivar%20A&rate=1&steps=1000"
    X, y = wine
    x, sign = X[:, 0], np.where(y, 1.0, -1.0)
    z = np.column_stack([np.ones(len(x)), (x - x.mean()) / x.std()])
    step = 4 / np.linalg.eigvalsh(z.T @ z / len(z))[-1]
    for at in (10, 100):
        tab = visit("wine", "cultivar", f"{link}&start=[0.5,-2]&at={at}")
        b = np.array([0.5, -2.0])
        for _ in range(at):
            b += step * z.T @ (sign / (1 + np.exp(sign * (z @ b)))) / len(z)
        slope = b[1] / x.std()
        assert number(tab, "slope") == shown(slope, 5)
        assert number(tab, "half") == shown(x.mean() - b[0] / slope, 5)
        assert figure(tab, "curves").startswith(f"Sigmoid after {at} steps")
        assert tab.locator("[data-layer=earlier] path").count() == (at > 10)
        # the curve goes up through ½ where the figure says
        ring = tab.locator("[data-layer=cross] circle").bounding_box()
        plane = tab.locator(".plane", has=tab.locator("[data-layer=cross]")).bounding_box()
        assert plane["x"] < ring["x"] < plane["x"] + plane["width"]
    tab = visit("wine", "cultivar", link.replace("logistic", "squares"))
    line = np.polyfit(x, y, 1)
    assert number(tab, "slope") == shown(line[0], 5)
    assert number(tab, "intercept") == shown(line[1], 5)
    assert tab.locator("[data-layer=score] path").count() == 0


def test_mistakes_move_the_line_one_by_one(visit, wine):
    tab = visit("wine", "cultivar", f"#descend?loss=perceptron&standardize=false&{TWO}&at=0")
    X, y = wine
    with pytest.warns(sx.SeparatrixWarning):
        model = sx.Perceptron(order="given", max_epochs=40).fit(X, y)
    assert int(figure(tab, "mistakes").rstrip("+")) == min(model.mistakes_[0], 400)
    slider = tab.locator(".view input[type=range]:visible")
    for _ in range(2):
        slider.press("ArrowRight")
        settled(tab)
    assert figure(tab, "update").startswith("2 of ")
    second = perceptron_updates(X, y.astype(np.int64), 1, 2).rows[1]
    assert tab.locator(".mistake").get_attribute("data-mistake") == str(second)


def test_the_hand_is_followed_at_2000_rows(visit):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2_000, 2))
    y = np.where(x @ [1.0, 2.0] + rng.normal(size=2_000) > 0, "a", "b")
    table = {"u": x[:, 0].tolist(), "v": x[:, 1].tolist(), "c": y.tolist()}
    tab = visit(table, "c", "#descend?loss=logistic&steps=60")
    best = tab.evaluate("""async () => {
      const host = document.querySelector('.picture svg'), box = host.getBoundingClientRect();
      const send = (type, x) => host.dispatchEvent(new PointerEvent(type,
        { pointerId: 1, clientX: box.left + x, clientY: box.top + 120, bubbles: true }));
      host.setPointerCapture = () => {};
      const place = () => document.querySelector('[data-start]').getAttribute('cx');
      let best = Infinity;
      send('pointerdown', 200);
      for (let i = 1; i < 8; i += 1) {
        await new Promise((done) => setTimeout(done, 150));
        const before = place(), start = performance.now();
        send('pointermove', 200 + 30 * i);
        while (place() === before) await new Promise(requestAnimationFrame);
        best = Math.min(best, performance.now() - start);
      }
      send('pointerup', 400);
      return best;
    }""")
    assert best < 100
