"""Models that were saved and loaded: the same, to the last bit."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from scipy import sparse

import separatrix as sx
from separatrix.catalogue import DECLARATIONS, declared_class
from separatrix.estimators.baseline import MeanRegressor, MostFrequentClassifier
from separatrix.messages import InputError
from separatrix.optimize.convex import Certificate
from separatrix.storage import container, load, load_study, save
from separatrix.storage.container import ENUMS, KERNELS, RECORDS, class_in, decode, encode
from tests.registry import REGISTRY
from tests.storage.files import RNG, X, Y, header_of


def _parameters(model) -> dict:
    """Parameters at every depth; an estimator inside another stands by its class."""

    def plain(value):
        if isinstance(value, list):
            return [(type(v), _parameters(v)) if hasattr(v, "get_params") else v for v in value]
        return type(value) if hasattr(value, "get_params") else value

    return {name: plain(value) for name, value in model.get_params().items()}


@pytest.mark.parametrize("row", REGISTRY, ids=lambda row: row.name)
def test_every_estimator_predicts_the_same_after_the_journey(row, tmp_path) -> None:
    y = np.where(np.median(Y) < Y, "up", "down") if row.task == "classification" else Y
    x = np.abs(X) if row.counts else X
    y = np.abs(y) if row.counts_events else y
    fitted = row.make().fit(x, y)
    save(fitted, tmp_path / "a.sx")
    back = load(tmp_path / "a.sx")
    assert type(back) is type(fitted)
    assert _parameters(back) == _parameters(fitted)
    if hasattr(fitted, "predict"):
        assert (back.predict(x) == fitted.predict(x)).all()
    else:
        assert (back.transform(x) == fitted.transform(x)).all()
    assert str(getattr(back, "certificate_", "")) == str(getattr(fitted, "certificate_", ""))
    save(back, tmp_path / "b.sx")
    assert (tmp_path / "a.sx").read_bytes() == (tmp_path / "b.sx").read_bytes()


def test_the_registry_lists_every_estimator_of_the_package() -> None:
    public = {
        name
        for name in sx.__all__
        if isinstance(getattr(sx, name), type) and hasattr(getattr(sx, name), "get_params")
    }
    assert public == set(DECLARATIONS)
    for name in public:
        assert declared_class(name) is getattr(sx, name)
    for table in (RECORDS, KERNELS, ENUMS):
        for name, home in table.items():
            found = class_in(table, name)
            assert (found.__name__, found.__module__) == (name, home)


@pytest.mark.parametrize("table", ["_RECORDS", "_KERNELS"])
def test_no_name_is_listed_twice(table) -> None:
    names = [name for line in getattr(container, table).values() for name in line.split()]
    assert len(names) == len(set(names))
    assert not set(names) & set(DECLARATIONS) or table == "_KERNELS"


@pytest.mark.parametrize("baseline", [MeanRegressor, MostFrequentClassifier])
def test_baselines_are_stored_too(baseline, tmp_path) -> None:
    y = Y if baseline is MeanRegressor else np.array(["b", "a", "b"] * 20)
    fitted = baseline().fit(X, y)
    save(fitted, tmp_path / "m.sx")
    assert (load(tmp_path / "m.sx").predict(X[:5]) == fitted.predict(X[:5])).all()


def test_a_table_with_levels_and_missing_values_is_read_as_in_training(tmp_path) -> None:
    table = {
        "size": [1.0, None, 3.0, 4.0, 5.0, 6.0],
        "town": ["b", "a", "a", None, "b", "c"],
        "y": [1.0, 2.0, 3.5, 4.0, 5.0, 7.0],
    }
    import polars as pl

    rows = sx.scan(pl.DataFrame(table), target="y", missing="indicator")
    fitted = sx.LinearRegression().fit(rows)
    save(fitted, tmp_path / "m.sx")
    back = load(tmp_path / "m.sx")
    assert back.encoding_ == fitted.encoding_
    assert (back.predict(pl.DataFrame(table)) == fitted.predict(pl.DataFrame(table))).all()


def test_training_rows_stay_behind(model, file) -> None:
    assert model._rows is not None
    header, _ = header_of(file)
    assert "_rows" not in header["__metadata__"]["attributes"]
    assert not hasattr(load(file), "_rows") or load(file)._rows is None
    assert not any(
        place["shape"][:1] == [len(X)] for name, place in header.items() if name[0] != "_"
    )


@pytest.mark.parametrize("table", [RECORDS, KERNELS, ENUMS])
def test_listed_classes_are_where_the_list_says(table) -> None:
    for name, home in table.items():
        cls = class_in(table, name)
        assert (cls.__module__, cls.__name__) == (home, name)
        assert not hasattr(cls, "get_params"), name


def test_declared_classes_are_where_their_declarations_say() -> None:
    for name, declared in DECLARATIONS.items():
        cls = declared_class(name)
        assert (cls.__module__, cls.__name__) == (declared.home, name)
        assert hasattr(cls, "get_params"), name


def test_a_file_describes_itself_to_any_reader_of_safetensors(file) -> None:
    with safe_open(str(file), framework="np") as content:
        metadata = content.metadata()
        assert (content.get_tensor("model.coef_") == load(file).coef_).all()
    assert metadata["format"] == "separatrix model"
    assert metadata["format_version"] == "1"
    assert json.loads(metadata["class"]) == "LinearRegression"
    assert set(json.loads(metadata["versions"])) == {"separatrix", "numpy", "scikit-learn"}


def test_the_study_is_stored_with_the_model(model, tmp_path) -> None:
    save(model, tmp_path / "m.sx", study={"a": (1, 2.5, None)})
    assert load_study(tmp_path / "m.sx") == {"a": (1, 2.5, None)}
    save(model, tmp_path / "m.sx")
    assert load_study(tmp_path / "m.sx") is None


scalars = (
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(max_size=5)
)
arrays = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.bool_, np.uint8]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
values = st.recursive(
    scalars | arrays,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 9), inner, max_size=3)
    ),
    max_leaves=8,
)


def same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray):
        equal = np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and equal
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b) or (a != a and b != b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return a == b


@given(values)
@settings(max_examples=150, deadline=None)
def test_values_survive_exactly(value) -> None:
    tensors: dict = {}
    text = json.dumps(encode(value, tensors, "v"), allow_nan=False)
    assert same(decode(json.loads(text), tensors), value)


@pytest.mark.parametrize(
    "value",
    [
        np.float32(1.5),
        np.str_("a"),
        np.array(["x", "yy"]),
        np.array([["b", "a"], ["a", "long"]]),
        np.array(["b", "a", "b"], dtype=object),
        np.array([], dtype=object),
        np.array([], dtype=str),
        np.array([["x", None], [1, True]], dtype=object),
        Certificate("Claim", primal=1.0, gap=float("nan"), dependent=("a",)),
    ],
    ids=lambda v: type(v).__name__,
)
def test_values_of_other_kinds(value) -> None:
    tensors: dict = {}
    back = decode(json.loads(json.dumps(encode(value, tensors, "v"))), tensors)
    assert type(back) is type(value)
    assert repr(back) == repr(value)


def test_many_labels_take_little_room(tmp_path) -> None:
    """The header of the format is limited; labels of a large test part must not fill it."""
    labels = np.array(["harbour", "hill"])[RNG.integers(0, 2, 100_000)]
    tensors: dict = {}
    assert len(json.dumps(encode({"truth": labels}, tensors, "t"))) < 200
    assert sum(t.nbytes for t in tensors.values()) == 400_000


def test_sparse_matrices_survive() -> None:
    tensors: dict = {}
    matrix = sparse.random_array((5, 4), density=0.4, rng=1, format="csr")
    back = decode(encode(matrix, tensors, "m"), tensors)
    assert (back != matrix).nnz == 0


def test_nothing_foreign_is_stored(tmp_path) -> None:
    from sklearn.linear_model import LinearRegression as Other

    with pytest.raises(InputError, match="not a separatrix estimator"):
        save(Other().fit(X, Y), tmp_path / "m.sx")
    with pytest.raises(InputError, match="not fitted"):
        save(sx.LinearRegression(), tmp_path / "m.sx")
    strange = sx.LinearRegression().fit(X, Y)
    strange.extra_ = object()
    with pytest.raises(InputError, match="extra_"):
        save(strange, tmp_path / "m.sx")
    assert list(tmp_path.iterdir()) == []
