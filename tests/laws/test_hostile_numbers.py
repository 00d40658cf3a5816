"""Numbers that no table should hold: a finite answer or one sentence, soon, and never a crash.

``make bounds`` runs this module with the bounds of all compiled loops checked
(``NUMBA_BOUNDSCHECK=1`` and a cache of its own): what overflows within a loop must not lead it out
of its arrays. A few loops are checked so in every run.
"""

from __future__ import annotations

import faulthandler
import inspect
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import is_classifier, is_regressor

import separatrix as sx
from separatrix.catalogue import DECLARATIONS

#: Seconds after which a fit of two dozen rows counts as one without end, on any computer.
PATIENCE = 120.0
N = 24


class Case(NamedTuple):
    """A table with numbers and labels as targets, and weights."""

    name: str
    x: Any
    y: Any
    labels: Any
    w: Any = None


def plain() -> Case:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N, 3)) @ (np.eye(3) + 0.3)
    y = x @ np.array([1.5, -2.0, 0.5]) + 0.3 * rng.standard_normal(N)
    return Case("plain", x, y, np.array(["a", "b", "c"])[np.digitize(y, [-1.0, 1.0])])


def cases() -> Iterator[Case]:
    start = plain()
    x, y = start.x, start.y
    rng = np.random.default_rng(1)

    def with_value(value: float) -> Any:
        changed = x.copy()
        changed[3, 1] = value
        return changed

    def objects(values: list[Any]) -> Any:
        found = np.empty(N, dtype=object)
        found[:] = (values * N)[:N]
        return found

    for scale in (1e200, 1e-200, 1e307, 1e-310):
        yield start._replace(name=f"X times {scale:g}", x=x * scale)
        yield start._replace(name=f"y times {scale:g}", y=y * scale)
    yield start._replace(name="one huge value", x=with_value(1e300))
    far = with_value(-1.7e308)
    far[4, 1] = 1.7e308
    yield start._replace(name="differences overflow", x=far)
    yield start._replace(name="columns of all sizes", x=x * [1e200, 1e-200, 1.0])
    yield start._replace(name="constant", x=np.full_like(x, 1e308))
    for w in (1e300, 1e-300):
        yield start._replace(name=f"weights {w:g}", w=np.full(N, w))
    yield start._replace(name="mixed weights", w=10.0 ** rng.choice([-150.0, 150.0], N))
    yield start._replace(name="one heavy row", w=np.r_[np.ones(N - 1), 1e18])
    days = np.datetime64("2020-01-01") + np.arange(3 * N).reshape(N, 3)  # dependent columns
    yield start._replace(name="times", x=days)
    yield start._replace(
        name="frame of times", x=pd.DataFrame(days.astype("M8[ns]"), columns=list("abc"))
    )
    yield start._replace(name="times as target", y=days[:, 0], labels=days[:, 0])
    for value in ("text", None, pd.NA, 10**400):
        mixed = x.astype(object)
        mixed[2, 1] = value
        yield start._replace(name=f"an object {str(value)[:6]}", x=mixed)
    yield start._replace(name="complex", x=x + 1j)
    for values in ([1, "a", 2.5], [1, 2, pd.NA], ["u", "v", None]):
        yield start._replace(name=f"labels {values}", y=objects(values), labels=objects(values))
    few = np.array(list("aba"))
    for n in (1, 2, 3):
        yield Case(f"{n} rows", x[:n], y[:n], few[:n])
    yield start._replace(name="every row a class", labels=np.array([f"c{i:02d}" for i in range(N)]))


def models() -> Iterator[Any]:
    for name, declared in DECLARATIONS.items():
        yield pytest.param(declared.make, id=name)
    for linkage in ("single", "complete", "average", "centroid"):
        yield pytest.param(
            lambda linkage=linkage: sx.AgglomerativeClustering(linkage=linkage), id=linkage
        )
    for name, make in {
        "LinearSVC, hinge": lambda: sx.LinearSVC(loss="hinge"),
        "SVC, linear": lambda: sx.SVC(kernel="linear"),
        "LogisticRegression, ℓ₁": lambda: sx.LogisticRegression(l1_ratio=1.0, solver="saga"),
        "LogisticRegression, no penalty": lambda: sx.LogisticRegression(C=np.inf),
        "OneVsOne of logistic": lambda: sx.OneVsOne(sx.LogisticRegression()),
    }.items():
        yield pytest.param(make, id=name)


def fitted(model: Any, case: Case) -> tuple[Any, Any]:
    """The fitted model, and what it was fitted to."""
    parameters = inspect.signature(model.fit).parameters
    weights = {} if case.w is None else {"sample_weight": case.w}
    x = case.x
    if model.__sklearn_tags__().input_tags.positive_only and np.asarray(x).dtype.kind == "f":
        x = np.abs(x)
    if is_classifier(model):
        return model.fit(x, case.labels, **weights), x
    if is_regressor(model):
        return model.fit(x, case.y, **weights), x
    if "X" in parameters:
        return model.fit(x, **(weights if "sample_weight" in parameters else {})), x
    score = np.asarray(x)[:, 0]  # a calibration: of one score, or one for each class
    each = isinstance(model, sx.TemperatureCalibration)
    score = np.column_stack([score, score[::-1]]) if each else score
    labels = np.arange(len(score)) % 2 == 0 if case.labels[0] == plain().labels[0] else case.labels
    return model.fit(score, labels, **weights), score


def not_finite(values: Any) -> bool:
    found = np.asarray(values)
    return found.dtype.kind == "f" and not bool(np.isfinite(found).all())


def raised_by_libraries(raw: BaseException) -> bool:
    """Whether NumPy or SciPy refused what was handed to them, in their words."""
    frames = list(traceback.walk_tb(raw.__traceback__))
    module = frames[-1][0].f_globals["__name__"]
    return module.split(".")[0] in {"numpy", "scipy"}


#: What is asked of a fitted model about rows far from those it has seen: a finite answer, or a
#: sentence. The last is a row in which a computation before overflowed.
FAR = {
    "1e60": [1e60, -1e60, 1e60],
    "1e200": [1e200, -1e200, 1e200],
    "one 1e200": [0.5, 1e200, 0.1],
    "1e307": [1e307, 1e307, -1e307],
    "largest": [1.7e308, -1.7e308, 1.7e308],
    "inf": [0.5, np.inf, 0.1],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", list(models()))
def test_rows_far_from_all_others_get_a_finite_answer_or_a_sentence(make: Any) -> None:
    start = plain()
    try:
        model, x = fitted(make(), start)
    except (sx.InputError, ValueError):
        return  # as the law above has it
    for name in ("predict", "predict_proba", "decision_function", "transform"):
        for case, row in FAR.items():
            if not hasattr(model, name) or np.ndim(x) == 1:
                continue
            rows = np.abs(row) if (np.asarray(x) >= 0.0).all() else np.array(row)
            rows = np.vstack([x[:2], np.resize(rows, x.shape[1])])
            try:
                answer = getattr(model, name)(rows)
            except sx.InputError:
                continue
            except ValueError as raw:
                if raised_by_libraries(raw):
                    raise AssertionError(name, case) from raw
                continue
            if isinstance(model, sx.RadiusNeighborsRegressor):  # NaN: no neighbors, as there
                answer = answer[:2]
            assert not not_finite(answer), (name, case)
            known = getattr(model, name)(rows[:2])
            if np.asarray(known).dtype.kind == "f":
                np.testing.assert_allclose(answer[:2], known, rtol=1e-5, err_msg=f"{name} {case}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", list(models()))
def test_a_finite_answer_or_a_sentence(make: Any) -> None:
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    try:
        for case in cases():
            try:
                model, x = fitted(make(), case)
                answers = {
                    name: getattr(model, name)(x)
                    for name in ("predict", "predict_proba", "decision_function", "transform")
                    if hasattr(model, name)
                }
            except sx.InputError:
                continue
            except np.linalg.LinAlgError as raw:
                raise AssertionError(case.name) from raw
            except ValueError as raw:  # in scikit-learn's words, but not in those of its tools
                if raised_by_libraries(raw):
                    raise AssertionError(case.name) from raw
                continue
            answers |= {name: getattr(model, name, 0.0) for name in ("coef_", "intercept_")}
            wrong = [name for name, values in answers.items() if not_finite(values)]
            assert not wrong, (case.name, wrong)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.mark.parametrize("scale", [2.0**660, 2.0**-660, 2.0**1000, 2.0**-1000])
@pytest.mark.parametrize(
    "linkage", ["ward", "single", "centroid", "median", "average", "complete", "weighted"]
)
def test_linkages_have_no_unit(linkage: str, scale: float) -> None:
    x = plain().x
    model = sx.AgglomerativeClustering(3, linkage=linkage)
    distances = model.fit(x).distances_
    np.testing.assert_array_equal(model.fit(x * scale).distances_, distances * scale)
    assert model.certificate_.holds


@pytest.mark.parametrize("scale", [2.0**660, 2.0**-660, 2.0**-1000])
@pytest.mark.parametrize(
    "make",
    [
        sx.KNeighborsClassifier, sx.KNeighborsRegressor, sx.KernelVoteClassifier, sx.NadarayaWatson,
        sx.NearestExemplar, sx.BoxClassifier, sx.UnionOfBoxes,
    ],
)  # fmt: skip
def test_metrics_and_boxes_have_no_unit(make: Any, scale: float) -> None:
    x, target = plain().x, plain().labels if is_classifier(make()) else plain().y
    found = make().fit(x * scale, target).predict(x * scale)
    expected = make().fit(x, target).predict(x)
    if is_classifier(make()):
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def test_refusals_name_the_column_and_the_range() -> None:
    x, y = plain().x, plain().y
    for size, words in ((1e200, "too large: their squares"), (1e-200, "too small: their squares")):
        with pytest.raises(sx.InputError, match=rf"column 'b': holds numbers {words}"):
            sx.SVR().fit(pd.DataFrame(x * [1.0, size, 1.0], columns=list("abc")), y)
        with pytest.raises(sx.InputError, match=rf"column 'y': holds numbers {words}"):
            sx.Ridge().fit(x, y * size)
    with pytest.raises(sx.InputError, match="sample_weight goes up to"):
        sx.Ridge().fit(x, y, sample_weight=np.full(N, 1e200))
    mixed = x.astype(object)
    mixed[2, 1] = pd.NA
    with pytest.raises(sx.InputError, match="row 3, column 'x1': Input X contains NaN"):
        sx.Ridge().fit(mixed, y)
    sparse = np.where(x > 0.0, x, 0.0)
    with pytest.raises(sx.InputError, match="column 'x0': holds numbers too small"):
        sx.LogisticRegression().fit(csr_array(sparse * 1e-200), plain().labels)
    nothing = np.column_stack([x, np.zeros(N)])  # zeros are not small numbers
    assert sx.Ridge().fit(nothing, y).certificate_.holds


@pytest.mark.parametrize("value", [1e200, 1e-200, np.nan, np.inf])
@pytest.mark.parametrize(
    "make", [sx.LinearRegression, sx.Lasso, sx.RidgeCV, sx.LassoCV, sx.LinearDiscriminantAnalysis,
             sx.GaussianNB]
)  # fmt: skip
def test_numbers_that_only_sums_see_are_refused_as_elsewhere(make: Any, value: float) -> None:
    x, target = plain().x.copy(), plain().labels if is_classifier(make()) else plain().y
    x[:, 1] = x[:, 1] * value if value < 1.0 else np.where(np.arange(N) == 3, value, x[:, 1])
    with pytest.raises(sx.InputError, match="column 'x1'") as refused:
        make().fit(x, target)
    with pytest.raises(sx.InputError) as elsewhere:
        sx.SVC().fit(x, plain().labels)
    assert str(refused.value) == str(elsewhere.value)


@pytest.mark.parametrize("folds", [[], [(np.arange(N), [])]])
def test_folds_without_rows_are_refused(folds: Any) -> None:
    for make in (sx.LogisticRegressionCV, sx.LogisticCV, sx.LassoCV, sx.RidgeCV):
        target = plain().labels if is_classifier(make()) else plain().y
        with pytest.raises(sx.InputError, match="cv"):
            make(cv=folds).fit(plain().x, target)


def test_functions_that_are_no_distance_are_refused() -> None:
    rng, x = np.random.default_rng(0), plain().x
    for linkage in ("average", "complete"):
        model = sx.AgglomerativeClustering(3, linkage=linkage, metric=lambda a, b: np.nan)
        with pytest.raises(sx.InputError, match="not a distance"):
            model.fit(x)
        model.set_params(metric=lambda a, b: rng.random())
        with suppress(sx.InputError):  # where no pair is nearest in both directions
            model.fit(x)


#: Loops that index by what they computed; to compile them with their bounds checked takes seconds.
CHECKED = """
import numpy as np, separatrix as sx
from separatrix.cluster.linkage import linkage_of_points
from separatrix.distances.metrics import Euclidean
x = np.random.default_rng(0).normal(size=(300, 4)) * 1e200  # by means; the first 100 by distances
for rows in (x, x[:100]):
    assert np.isfinite(sx.AgglomerativeClustering().fit(rows).distances_).all()
assert not np.isfinite(linkage_of_points(x[:100], "ward", Euclidean())[:, 2]).any()
try:
    linkage_of_points(x, "ward", Euclidean())  # as no estimator calls it: squares overflow
except sx.InputError as refusal:
    print(refusal)
"""


def test_overflow_leads_no_loop_out_of_its_arrays(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHECKED],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "not numbers" in done.stdout


def test_one_heavy_row_leaves_the_others_their_digits() -> None:
    """Its weight is on the mean, so that the scatter is that of the others about it."""
    start = plain()
    for at in (0, N - 1):
        w = np.ones(N)
        w[at] = 1e18
        x, y = start.x - start.x[at], start.y - start.y[at]
        expected = np.linalg.lstsq(x, y, rcond=None)[0]
        found = sx.LinearRegression().fit(start.x, start.y, sample_weight=w)
        np.testing.assert_allclose(found.coef_, expected, rtol=1e-10)
        assert found.certificate_.holds
        assert sx.Ridge().fit(start.x, start.y, w).certificate_.holds
        many = np.arange(5000 * N) % N  # by the loop for many short rows
        found.fit(start.x[many], start.y[many], sample_weight=w[many])
        np.testing.assert_allclose(found.coef_, expected, rtol=1e-10)


def test_sparse_svms_of_columns_far_from_zero_end_soon() -> None:
    """Nearly dependent columns need few steps, though descent by coordinates would need many."""
    rng = np.random.default_rng(0)
    seconds, x = 1.6e9 + rng.uniform(0.0, 1e7, (300, 3)), rng.standard_normal(300)
    y = x + rng.standard_normal(300) > 0.0
    model = sx.LinearSVC(penalty="l1", dual=False).fit(np.column_stack([seconds, x]), y)
    assert model.certificate_.holds
    assert model.n_iter_ < 60
