"""The view of a boundary, in a browser."""

import json
import os
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import separatrix as sx
from separatrix.exploration import read_table
from separatrix.exploration.plots import plain_models
from separatrix.exploration.serve import describe_table
from separatrix.exploration.session import Session
from separatrix.exploration.state import ViewState
from separatrix.exploration.views.boundary import QUESTIONS
from separatrix.samples import sample
from tests.exploration.conftest import figure, settled

WINE = "#boundary?x=alcohol&y=hue"


def moons(n):
    """Two classes that no line separates."""
    rng = np.random.default_rng(0)
    turn, side = rng.uniform(0, np.pi, n), np.arange(n) % 2
    X = np.column_stack([np.cos(turn), np.sin(turn)]) * np.where(side, 1, -1)[:, None]
    X += np.column_stack([side, 0.4 * side]) + rng.normal(0, 0.3, (n, 2))
    return {"a": X[:, 0], "b": X[:, 1], "c": np.array(["no", "yes"])[side]}


MOONS, SMALL = moons(2_000), moons(200)


def percent(tab, name):
    return float(figure(tab, name).split()[0])


def shown(value):
    return float(f"{100 * value:.4g}")


def choose(tab, label, value):
    tab.get_by_label(label, exact=True).select_option(value)
    settled(tab)


def path_known(tab):
    tab.locator(".plane[data-path=known]").wait_for()


@pytest.fixture(scope="module")
def wine():
    return read_table(sample("wine").path).arrays(["alcohol", "hue"], "cultivar")


def test_every_model_says_what_the_library_says(visit, wine):
    X, y = wine
    tab = visit("wine", "cultivar", WINE)
    models = {
        "svm": sx.SVC(gamma=0.78125, standardize=True),
        "logistic": sx.LogisticRegression(standardize=True),
        "lda": sx.LinearDiscriminantAnalysis(),
        "qda": sx.QuadraticDiscriminantAnalysis(),
        "rda": sx.GaussianDiscriminant(alpha=0.5),
        "bayes": sx.GaussianNB(),
        "neighbors": sx.KNeighborsClassifier(5, standardize=True),
        "vote": sx.KernelVoteClassifier(0.8, standardize=True),
        "exemplar": sx.NearestExemplar(standardize=True),
        "perceptron": sx.Perceptron(max_epochs=20, standardize=True),
        "boxes": sx.BoxClassifier(),
    }
    choose(tab, "Margins of a pair", "cultivar A | cultivar C")
    assert "cultivar A against cultivar C" in tab.locator(".picture").inner_text()
    assert tab.locator(".margin").count() == 2
    for name, model in models.items():
        choose(tab, "Model", name)
        model.fit(X, y)
        assert percent(tab, "error") == shown(np.mean(model.predict(X) != y)), name
        assert figure(tab, "certificate") == str(model.certificate_), name
        if name in ("lda", "qda", "bayes"):
            own = model.leave_one_out_fits(X, y).own.argmax(axis=1)
            assert percent(tab, "without") == shown(np.mean(model.classes_[own] != y))
            assert tab.locator(".ellipse").count() == 6
    assert tab.locator(".box").count() >= 6
    choose(tab, "Plane", "discriminant")
    assert "projection" in tab.locator(".picture").inner_text()


def test_a_model_without_sliders_is_shown_with_its_defaults(visit, wine):
    X, y = wine
    tab = visit("wine", "cultivar", WINE)
    choose(tab, "Model", "NuSVC")
    model = sx.NuSVC(standardize=True).fit(X, y)
    assert percent(tab, "error") == shown(np.mean(model.predict(X) != y))
    assert figure(tab, "certificate") == str(model.certificate_)
    choose(tab, "Margins of a pair", "cultivar A | cultivar C")
    assert tab.locator(".margin").count() == 2
    choose(tab, "Model", "EllipsoidClassifier")
    assert "whose score is largest" in tab.locator(".picture").inner_text()
    assert tab.get_by_label("Margins of a pair").count() == 0


#: Wine has cells of the grid without a row within a radius of 1.
ANSWERING = [n for n in plain_models("classification") if n != "RadiusNeighborsClassifier"]


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", ANSWERING)
def test_every_declared_classifier_answers(name):
    session = Session(describe_table(str(sample("wine").path), "cultivar", 2_000, {}))
    state = {"model": name, "x": "alcohol", "y": "hue"}
    answer = QUESTIONS["fit"](session, ViewState(state))
    scope = {}
    exec(answer["python"], scope)
    assert answer["error"] == np.mean(scope["model"].predict(scope["X"]) != scope["y"])
    assert answer["certificate"]["text"] == str(scope["model"].certificate_)


FOLLOWED = """async ({state, at}) => {
  const {PATHS, places} = await import(new URL("page/views/boundary/paths.js", document.baseURI));
  const {unpack, ask} = await import(new URL("page/server.js", document.baseURI));
  const answer = async (question) => {  // a later question of the page itself leaves none
    let found = null;
    while (found === null) found = await ask("boundary", question, state);
    return found;
  };
  const fitted = await answer("fit");
  const {path} = await answer("path");
  const ground = places(fitted.grid, fitted.box, unpack(fitted.points.x));
  const along = new PATHS[state.model].of(path, ground);
  const found = at.map((value) => ({...along.at(value)}).values.slice());
  return {box: fitted.box, grid: fitted.grid, cells: ground.cells, n: ground.n,
          values: found.map((v) => Array.from(v))};
}"""


def test_paths_in_the_browser_are_the_librarys(visit, wine):
    X, y = wine
    tab = visit("wine", "cultivar", WINE)
    state = {"x": "alcohol", "y": "hue", "h": 0.5, "l1": 1, "target": "cultivar", "moving": True}
    at = [0.03, 40.0, 0.7, 0.71, 3.0]
    cases = {
        "svm": lambda C: (
            sx.SVC(C=C, gamma=2.0, decision_function_shape="ovo", standardize=True),
            "decision_function",
            1e-4,
        ),
        "logistic": lambda C: (
            sx.LogisticRegression(C=C, l1_ratio=1.0, standardize=True),
            "predict_proba",
            2e-2,
        ),
        "neighbors": lambda k: (
            sx.KNeighborsClassifier(k, standardize=True),
            "predict_proba",
            1e-6,
        ),
    }
    for name, make in cases.items():
        values = [1, 30, 7, 8, 2] if name == "neighbors" else at
        got = tab.evaluate(FOLLOWED, {"state": {**state, "model": name}, "at": values})
        (x0, x1), (y0, y1) = got["box"]
        across, up = (
            np.linspace(x0, x1, got["grid"][0]),
            np.linspace(y0, y1, got["grid"][1]),
        )
        cells = np.column_stack([np.tile(across, len(up)), np.repeat(up, len(across))])
        places = np.vstack([cells, X])
        for value, found in zip(values, got["values"], strict=True):
            model, method, tolerance = make(value)
            want = getattr(model.fit(X, y), method)(places).T
            error = np.abs(np.reshape(found, (-1, got["n"])) - want).max()
            assert error < tolerance, (name, value, error)


def test_points_are_edited_by_keys_and_by_mouse_and_undone(visit, wine):
    X, y = wine
    tab = visit("wine", "cultivar", WINE + "&model=lda")
    point = tab.locator("[data-row='0']")
    before, picture = point.get_attribute("transform"), tab.locator(".plane svg")
    picture.focus()
    for key in ("n", "Shift+ArrowRight", "f"):
        tab.keyboard.press(key)
        settled(tab)
    assert point.get_attribute("transform") != before
    box = tab.locator("[data-row='100']").bounding_box()
    tab.mouse.move(box["x"] + 4, box["y"] + 4)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 150, box["y"] - 90, steps=5)
    tab.mouse.up()
    settled(tab)
    tab.locator("[data-row='3']").click(modifiers=["Alt"])
    settled(tab)
    place = picture.bounding_box()
    tab.mouse.dblclick(place["x"] + 100, place["y"] + 60)
    settled(tab)
    assert figure(tab, "points") == "178"
    assert tab.locator("[data-row='178']").count() == 1
    tab.get_by_role("button", name="Python").click()
    found = {}
    exec(tab.locator("#code code").inner_text(), found)
    tab.get_by_role("button", name="Close").click()
    wrong = np.mean(found["model"].predict(found["X"]) != found["y"])
    assert percent(tab, "error") == shown(wrong)
    assert figure(tab, "certificate") == str(found["model"].certificate_)
    again = visit("wine", "cultivar", tab.url[tab.url.index("#") :])
    assert [figure(again, n) for n in ("error", "without")] == [
        figure(tab, n) for n in ("error", "without")
    ]
    picture.focus()
    for _ in range(5):
        tab.keyboard.press("Control+z")
        settled(tab)
    assert point.get_attribute("transform") == before
    assert percent(tab, "error") == shown(
        np.mean(sx.LinearDiscriminantAnalysis().fit(X, y).predict(X) != y)
    )


def test_a_slider_follows_the_path_and_the_picture_is_saved(visit):
    tab = visit(SMALL, "c", "#boundary?h=1")
    path_known(tab)
    tab.get_by_label("C, the cost").press("ArrowRight")
    followed = figure(tab, "support"), percent(tab, "error"), tab.locator(".ring").count()
    tab.wait_for_timeout(200)
    settled(tab)
    C = json.loads(re.search(r"[?&]C=([^&]+)", tab.url)[1])
    table = read_table(SMALL)
    X, y = table.arrays(["a", "b"], "c")
    model = sx.SVC(C=C, gamma=0.5, standardize=True).fit(X, y)
    n, error = len(model.support_), shown(np.mean(model.predict(X) != y))
    assert followed == (str(n), error, n)
    assert figure(tab, "certificate") == str(model.certificate_)
    with tab.expect_download() as saved:
        tab.get_by_role("button", name="Save picture").click()
    root = ElementTree.parse(saved.value.path()).getroot()
    levels = {node.get("data-level") for node in root.iter() if node.get("data-level")}
    assert levels == {"f0", "f1", "f-1"}


#: Milliseconds of every frame while a slider goes on by one place a frame.
FRAMES = """(label) => new Promise((resolve) => {
  const labels = [...document.querySelectorAll("label")];
  const input = labels.find((l) => l.textContent.includes(label)).control;
  const times = [];
  const step = (now) => {
    times.push(now);
    if (times.length > 60) return resolve(times.slice(1).map((t, i) => t - times[i]));
    input.value = Number(input.value) + (times.length < 31 ? 1 : -1);
    input.dispatchEvent(new Event("input"));
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""

#: Milliseconds from a move of the pointer to the picture that follows its answer.
DRAG = """() => new Promise((resolve) => {
  const picture = document.querySelector(".plane svg");
  const node = document.querySelector("[data-row='7']");
  const box = node.getBoundingClientRect();
  const event = (kind, clientX, clientY) =>
    new PointerEvent(kind, {bubbles: true, pointerId: 1, clientX, clientY});
  picture.setPointerCapture = () => {};
  node.dispatchEvent(event("pointerdown", box.x + 4, box.y + 4));
  const begin = performance.now();
  const plane = document.querySelector(".plane");
  const before = plane.dataset.drawn;
  const wait = () => requestAnimationFrame(() => {
    if (plane.dataset.drawn === before) return wait();
    const time = performance.now() - begin;
    picture.dispatchEvent(event("pointerup", box.x + 9, box.y + 14));
    resolve(time);
  });
  picture.dispatchEvent(event("pointermove", box.x + 9, box.y + 14));
  wait();
})"""


def best(measure, enough, tries=12):
    """The least of several measurements, as others may use the computer too; then no more."""
    found = np.inf
    for _ in range(tries):
        found = min(found, measure())
        if found < enough:
            break
    return found


def test_the_picture_follows_the_hand_at_2000_rows(visit):
    if os.getloadavg()[0] > 4 * (os.cpu_count() or 1):
        pytest.skip("other programs take the time that is measured here")
    tab = visit(MOONS, "c", "#boundary?model=svm")

    def drag():
        settled(tab)
        return tab.evaluate(DRAG)

    def frame(label):
        return lambda: np.median(tab.evaluate(FRAMES, label))

    assert best(drag, 100) < 100
    path_known(tab)
    assert best(frame("C, the cost"), 20) < 20
    choose(tab, "Model", "neighbors")
    path_known(tab)
    assert best(frame("k, neighbors"), 20) < 20


def test_keys_keep_a_point_in_view_and_python_has_its_last_position(visit):
    tab = visit("wine", "cultivar", WINE + "&model=lda")
    tab.locator(".plane svg").focus()
    tab.keyboard.press("n")
    for _ in range(25):
        tab.keyboard.press("Shift+ArrowUp")
    tab.get_by_role("button", name="Python").click()
    code = tab.locator("#code code").inner_text()
    assert code.count("X[0] =") == 1
    assert "sx.scan(" in code
    scope = {}
    exec(code, scope)
    assert shown(np.mean(scope["model"].predict(scope["X"]) != scope["y"])) == percent(tab, "error")
    hue = read_table(sample("wine").path).columns["hue"]
    top = scope["X"][0, 1]
    assert hue.max() < top < hue.max() + 0.1 * np.ptp(hue)
    assert tab.locator("[data-row='0']").is_visible()


def test_a_slider_keeps_the_focus(visit):
    tab = visit(SMALL, "c")
    for label in ("C, the cost", "Bandwidth"):
        tab.get_by_label(label).focus()
        for _ in range(4):
            tab.keyboard.press("ArrowRight")
            settled(tab)
            assert tab.evaluate("document.activeElement.type") == "range"


def test_a_process_of_many_rows_follows_through_inducing_points():
    session = Session(describe_table(MOONS, "c", 2_000, {}))
    answer = QUESTIONS["fit"](session, ViewState({"model": "process", "moving": True}))
    assert "inducing points" in answer["certificate"]["text"]
    assert "n_inducing=32" in answer["python"]
    assert answer["error"] < 0.02
