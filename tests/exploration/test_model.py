"""The view of a stored model, in a browser and by its questions."""

import json
import time
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

import separatrix as sx
from separatrix.exploration.serve import describe_table
from separatrix.exploration.session import Session
from separatrix.exploration.state import ViewState
from separatrix.exploration.views.model import QUESTIONS
from separatrix.samples import sample
from tests.exploration.conftest import figure, settled

MODELS = {
    "linear": ("diabetes", "progression", sx.LinearRegression()),
    "logistic": ("wine", "cultivar", sx.LogisticRegression()),
    "neighbors": ("wine", "cultivar", sx.KNeighborsClassifier(5, standardize=True)),
    "svm": ("wine", "cultivar", sx.SVC(C=2.0, standardize=True)),
    "svr": ("diabetes", "progression", sx.SVR(C=50.0, standardize=True)),
    "polynomial": ("diabetes", "progression", sx.PolynomialRegression(2)),
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """opened(name): a session of a stored model, without a table."""
    folder, sessions = tmp_path_factory.mktemp("models"), {}

    def session(name):
        if name not in sessions:
            table, target, model = MODELS[name]
            path = folder / f"{name}.sx"
            sx.save(model.fit(sx.scan(sample(table).path, target=target)), path)
            sessions[name] = Session(None, str(path))
        return sessions[name]

    return session


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The folder of a study of houses, by least squares: what ``separatrix fit`` stores there."""
    folder = tmp_path_factory.mktemp("houses")
    rows = sx.scan(sample("houses").path, target="price")
    found = sx.run_study(rows, models=["linear"], effort="quick")
    sx.save(found.model, folder / "model.sx", study=replace(found, model=None))
    return str(folder)


def row_of(session):
    """A row within the ranges: a third of the way."""
    columns = QUESTIONS["about"](session, ViewState({}))["columns"]
    return [
        c["levels"][-1] if c["kind"] == "level" else c["low"] + (c["high"] - c["low"]) / 3
        for c in columns
    ]


@pytest.mark.parametrize("name", MODELS)
def test_a_prediction_is_the_librarys_and_its_python_runs(opened, name):
    session = opened(name)
    answer = QUESTIONS["explain"](session, ViewState({"row": row_of(session)}))
    json.dumps(answer, allow_nan=False)
    scope = {}
    exec(answer["python"], scope)
    if answer["number"] is None:
        assert answer["prediction"] == str(scope["prediction"])
    else:
        assert answer["number"] == scope["prediction"]
    if answer["probabilities"]:
        assert answer["probabilities"] == scope["probabilities"].tolist()


@pytest.mark.parametrize("name", ["linear", "logistic", "svm", "svr"])
def test_parts_add_up_to_the_score(opened, name):
    session = opened(name)
    answer = QUESTIONS["explain"](session, ViewState({"row": row_of(session)}))
    parts, scope = answer["parts"], {}
    total = parts["base"] + sum(value for _, value in parts["items"]) + parts["rest"][1]
    assert total == pytest.approx(parts["total"], rel=1e-10)
    exec(answer["python"], scope)
    model, row = scope["model"], scope["row"]
    if name in ("linear", "svr"):
        assert parts["total"] == pytest.approx(scope["prediction"], rel=1e-9)
        return
    at = list(model.classes_).index(answer["label"])
    if name == "logistic":
        assert parts["total"] == pytest.approx(model.decision_function(row)[0][at], rel=1e-9)
        return
    pairs = sx.load(session.model).set_params(decision_function_shape="ovo")
    scores = pairs.decision_function(row)[0]
    assert np.abs(np.abs(scores) - abs(parts["total"])).min() < 1e-5
    assert parts["total"] > 0  # in favor of the predicted class


def test_neighbors_vote_with_their_weights(opened):
    session = opened("neighbors")
    answer = QUESTIONS["explain"](session, ViewState({"row": row_of(session)}))
    items = answer["parts"]["items"]
    distances = [item[1] for item in items]
    assert distances == sorted(distances)
    for label, p in zip(
        ("cultivar A", "cultivar B", "cultivar C"), answer["probabilities"], strict=True
    ):
        assert sum(item[2] for item in items if item[3] == label) == pytest.approx(p)


def test_what_if_by_a_slider_and_a_link_to_it(visit, study):
    tab = visit(None, None, "#model", model=study)
    assert figure(tab, "mean linear").replace("−", "-")
    area = tab.get_by_role("slider", name="area")
    area.focus()
    before = figure(tab, "prediction")
    for _ in range(5):
        tab.keyboard.press("ArrowRight")
    settled(tab)
    tab.get_by_role("combobox", name="district").select_option("hill")
    settled(tab)
    found = figure(tab, "prediction")
    assert found != before
    values = tab.evaluate(
        "() => JSON.parse(new URLSearchParams(location.hash.split('?')[1]).get('row'))"
    )
    tab.get_by_role("button", name="Python").click()
    scope = {}
    exec(tab.locator("dialog code").inner_text(), scope)
    assert scope["row"]["area"] == [values[0]]
    assert float(found) == pytest.approx(scope["prediction"], rel=1e-5)
    again = visit(None, None, tab.evaluate("location.hash"), model=study)
    assert figure(again, "prediction") == found
    assert figure(again, "95 % interval") == figure(tab, "95 % interval")
    with again.expect_download() as saved:
        again.get_by_role("button", name="Save picture").click()
    assert ET.parse(saved.value.path()).getroot().tag.endswith("svg")


def test_a_row_of_the_table_is_taken(study):
    session = Session(describe_table(str(sample("houses").path), "price", 2_000, {}), study)
    row = QUESTIONS["table_row"](session, ViewState({"number": 4}))["row"]
    assert row == [151.7, 7.0, 21.0, None, "hill", "true", "gas"]
    answer = QUESTIONS["explain"](session, ViewState({"row": row}))
    took = []
    for _ in range(5):
        start = time.process_time()
        QUESTIONS["explain"](session, ViewState({"row": row}))
        took.append(time.process_time() - start)
    assert min(took) < 0.06
    line = answer["python"]
    scope = {}
    exec(line, scope)
    assert answer["number"] == scope["prediction"]


def test_a_page_without_a_model_says_so():
    with pytest.raises(sx.InputError, match="no model"):
        QUESTIONS["about"](Session(), ViewState({}))
