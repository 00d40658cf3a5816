"""Files: whole, exact, equal for equal content; and closed to whatever did not come from here."""

from __future__ import annotations

import json
import os
import pickle
import resource
import struct
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from scipy import sparse

import separatrix as sx
from separatrix.messages import InputError
from separatrix.models.baseline import MeanRegressor, MostFrequentClassifier
from separatrix.rows.parts import Parts
from separatrix.solvers.solution import Certificate
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moments import Moments
from separatrix.storage import StoredMoments, load, load_moments, load_story, save, save_moments
from separatrix.storage.codec import decode, encode
from separatrix.storage.container import digest
from separatrix.storage.files import whole_file, write_text
from separatrix.storage.registry import MODELS, RECORDS, class_in
from tests.registry import REGISTRY

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 4)) * [1.0, 1e6, 1e-6, 3.0]
Y = X @ [1.0, 2e-6, 3e6, 0.0] + RNG.normal(size=60)


@pytest.fixture
def model() -> sx.LinearRegression:
    return sx.LinearRegression().fit(X, Y)


@pytest.fixture
def file(model, tmp_path) -> Path:
    save(model, tmp_path / "model.sx")
    return tmp_path / "model.sx"


def header_of(path: Path) -> tuple[dict, bytes]:
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def rewrite(path: Path, header: dict, body: bytes) -> None:
    """Write changed content with a fingerprint that agrees, as someone hostile would."""
    for _ in range(2):
        text = json.dumps(header).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + body)
        with safe_open(str(path), framework="np") as file:
            tensors = {name: file.get_tensor(name) for name in list(file.keys())}
        header["__metadata__"]["digest"] = digest(header["__metadata__"], tensors)


# -- round trips -----------------------------------------------------------------------------------


def _parameters(model) -> dict:
    """Parameters at every depth; an estimator inside another stands by its class."""
    return {
        name: type(value) if hasattr(value, "get_params") else value
        for name, value in model.get_params().items()
    }


@pytest.mark.parametrize("row", REGISTRY, ids=lambda row: row.name)
def test_every_estimator_predicts_the_same_after_the_journey(row, tmp_path) -> None:
    y = np.where(np.median(Y) < Y, "up", "down") if row.task == "classification" else Y
    fitted = row.make().fit(X, y)
    save(fitted, tmp_path / "a.sx")
    back = load(tmp_path / "a.sx")
    assert type(back) is type(fitted)
    assert _parameters(back) == _parameters(fitted)
    if hasattr(fitted, "predict"):
        assert (back.predict(X) == fitted.predict(X)).all()
    else:
        assert (back.transform(X) == fitted.transform(X)).all()
    assert str(getattr(back, "certificate_", "")) == str(getattr(fitted, "certificate_", ""))
    save(back, tmp_path / "b.sx")
    assert (tmp_path / "a.sx").read_bytes() == (tmp_path / "b.sx").read_bytes()


def test_the_registry_knows_every_estimator_of_the_package() -> None:
    public = {
        name
        for name in sx.__all__
        if isinstance(getattr(sx, name), type) and hasattr(getattr(sx, name), "get_params")
    }
    assert public <= set(MODELS)
    for name in public:
        assert class_in(MODELS, name) is getattr(sx, name)
    for name in RECORDS:
        assert class_in(RECORDS, name).__name__ == name


@pytest.mark.parametrize("baseline", [MeanRegressor, MostFrequentClassifier])
def test_baselines_are_stored_too(baseline, tmp_path) -> None:
    y = Y if baseline is MeanRegressor else np.array(["b", "a", "b"] * 20)
    fitted = baseline().fit(X, y)
    save(fitted, tmp_path / "m.sx")
    assert (load(tmp_path / "m.sx").predict(X[:5]) == fitted.predict(X[:5])).all()


def test_a_table_with_levels_and_gaps_is_read_as_in_training(tmp_path) -> None:
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


def test_a_file_says_what_it_is_to_anyone_who_can_read_safetensors(file) -> None:
    with safe_open(str(file), framework="np") as content:
        told = content.metadata()
        assert (content.get_tensor("model.coef_") == load(file).coef_).all()
    assert told["format"] == "separatrix model"
    assert told["format_version"] == "1"
    assert json.loads(told["class"]) == "LinearRegression"
    assert set(json.loads(told["versions"])) == {"separatrix", "numpy", "scikit-learn"}


def test_what_is_kept_beside_the_model(model, tmp_path) -> None:
    save(model, tmp_path / "m.sx", story={"note": {"a": (1, 2.5, None)}})
    assert load_story(tmp_path / "m.sx", "note") == {"a": (1, 2.5, None)}
    assert load_story(tmp_path / "m.sx", "else") is None


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

    with pytest.raises(InputError, match="not a separatrix model"):
        save(Other().fit(X, Y), tmp_path / "m.sx")
    with pytest.raises(InputError, match="not fitted"):
        save(sx.LinearRegression(), tmp_path / "m.sx")
    strange = sx.LinearRegression().fit(X, Y)
    strange.extra_ = object()
    with pytest.raises(InputError, match="extra_"):
        save(strange, tmp_path / "m.sx")
    assert list(tmp_path.iterdir()) == []


# -- hostile files ---------------------------------------------------------------------------------


def test_every_truncation_is_refused(file, tmp_path) -> None:
    content = file.read_bytes()
    short = tmp_path / "short.sx"
    for length in [0, 1, 7, 8, 9, 100, len(content) // 2, len(content) - 1]:
        short.write_bytes(content[:length])
        with pytest.raises(InputError, match=r"short\.sx"):
            load(short)


@given(st.integers(0, 10**6), st.integers(1, 255))
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_flipped_byte_never_causes_anything_but_a_refusal(file, position, flip) -> None:
    content = bytearray(file.read_bytes())
    content[position % len(content)] ^= flip
    other = file.with_name("flipped.sx")
    other.write_bytes(content)
    try:
        back = load(other)
    except InputError:
        return
    assert (back.predict(X) == load(file).predict(X)).all()  # it was a blank between two parts


def damage(file: Path, key: str, change) -> Path:
    header, body = header_of(file)
    value = json.loads(header["__metadata__"][key])
    header["__metadata__"][key] = json.dumps(change(value))
    rewrite(file, header, body)
    return file


#: A tuple that holds a number where text belongs.
TUPLE = {"is": "tuple", "items": [3]}


def changed(record: dict, field: str, new) -> dict:
    return {**record, "fields": {**record["fields"], field: new}}


def as_is(new):
    return lambda _: new


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("class", as_is("os.system")),
        ("class", as_is("LogisticRegression")),
        ("class", as_is(["LinearRegression"])),
        ("class", as_is("Term")),
        ("parameters", as_is({"is": "dict", "items": [["no_such", 1]]})),
        ("parameters", as_is(3)),
        ("attributes", as_is({})),
        ("attributes", as_is([1, 2])),
        ("attributes", lambda v: {**v, "__class__": "x"}),
        ("attributes", lambda v: {**v, "predict": "x"}),
        ("attributes", lambda v: {**v, "hyperplane_": "x"}),
        ("attributes", lambda v: {**v, "coef_": "text"}),
        (
            "attributes",
            lambda v: {
                **v,
                "names_": {"is": "labels", "tensor": "model.coef_", "levels": ["a"], "text": True},
            },
        ),
        ("attributes", lambda v: {**v, "coef_": {"is": "array", "tensor": "absent"}}),
        ("attributes", lambda v: {**v, "coef_": {"is": "record", "of": "Popen", "fields": {}}}),
        ("attributes", lambda v: {**v, "coef_": {"is": "import", "of": "os"}}),
        ("attributes", lambda v: {**v, "encoding_": None, "n_features_in_": "many"}),
        ("attributes", lambda v: {**v, "n_features_in_": 7}),
        ("attributes", lambda v: {k: v[k] for k in v if k != "intercept_"}),
        ("attributes", lambda v: {**v, "intercept_": {"is": "dict", "items": []}}),
        ("attributes", lambda v: {**v, "intercept_": v["coef_"]}),
        ("attributes", lambda v: {**v, "certificate_": "sound"}),
        ("attributes", lambda v: {**v, "coef_": {"is": []}}),
        ("attributes", lambda v: {**v, "encoding_": changed(v["encoding_"], "terms", "none")}),
        ("attributes", lambda v: {**v, "encoding_": changed(v["encoding_"], "plain", 1)}),
        ("attributes", lambda v: {**v, "encoding_": changed(v["encoding_"], "notes", TUPLE)}),
    ],
)
def test_content_that_does_not_belong_is_refused(file, key, change) -> None:
    with pytest.raises(InputError, match=r"model\.sx"):
        load(damage(file, key, change))


def test_shapes_that_disagree_are_refused(file) -> None:
    header, body = header_of(file)
    header["model.coef_"]["shape"] = [2, 2]
    rewrite(file, header, body)
    with pytest.raises(InputError, match="2 coefficients for 4 columns"):
        load(file)


def test_classes_that_disagree_with_the_coefficients_are_refused(tmp_path) -> None:
    save(sx.LeastSquaresClassifier().fit(X, np.digitize(Y, [-1, 1])), tmp_path / "m.sx")
    header, body = header_of(tmp_path / "m.sx")
    header["model.classes_"]["shape"] = [1, 3]
    rewrite(tmp_path / "m.sx", header, body)
    with pytest.raises(InputError, match="classes do not fit"):
        load(tmp_path / "m.sx")


def test_parameters_that_came_later_have_their_defaults(file) -> None:
    header, body = header_of(file)
    header["__metadata__"]["parameters"] = json.dumps({"is": "dict", "items": []})
    rewrite(file, header, body)
    assert load(file).get_params() == sx.LinearRegression().get_params()


def test_deep_nesting_is_refused(file) -> None:
    header, body = header_of(file)
    header["__metadata__"]["attributes"] = '{"a_":' + "[" * 100_000 + "]" * 100_000 + "}"
    rewrite(file, header, body)
    with pytest.raises(InputError, match=r"model\.sx"):
        load(file)


def test_a_missing_key_is_named(file) -> None:
    header, body = header_of(file)
    del header["__metadata__"]["parameters"]
    rewrite(file, header, body)
    with pytest.raises(InputError, match="'parameters' is missing"):
        load(file)


def test_a_file_from_the_future_asks_for_an_update(file) -> None:
    header, body = header_of(file)
    header["__metadata__"]["format_version"] = "2"
    rewrite(file, header, body)
    with pytest.raises(InputError, match="Update separatrix"):
        load(file)


def test_a_header_that_claims_to_be_huge_is_refused(file) -> None:
    file.write_bytes(struct.pack("<Q", 2**62) + file.read_bytes()[8:])
    with pytest.raises(InputError, match="not a readable"):
        load(file)


def test_no_name_in_a_file_is_imported(file) -> None:
    sys.modules.pop("antigravity", None)
    for name in ("antigravity", "antigravity.main", "separatrix.storage.codec.Damaged"):
        with pytest.raises(InputError):
            load(damage(file, "class", as_is(name)))
    assert "antigravity" not in sys.modules


def test_a_pickle_is_not_opened(tmp_path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple:
            return os.mkdir, (str(tmp_path / "exploded"),)

    (tmp_path / "m.sx").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError):
        load(tmp_path / "m.sx")
    assert not (tmp_path / "exploded").exists()


def test_other_files_and_places(file, tmp_path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        load(tmp_path / "absent.sx")
    with pytest.raises(InputError, match="directory"):
        load(tmp_path)
    with pytest.raises(InputError, match="a separatrix moments file is needed"):
        load_moments(file)


# -- writing ---------------------------------------------------------------------------------------


def test_a_full_disk_is_said_and_nothing_is_left(model, tmp_path) -> None:
    with pytest.raises(InputError, match="disk is full"):
        save(model, "/dev/full")
    assert Path("/dev/full").is_char_device()


def test_a_write_that_fails_half_way_keeps_the_old_file(model, file) -> None:
    before = file.read_bytes()
    large = sx.LinearRegression().fit(RNG.normal(size=(400, 150)), RNG.normal(size=400))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    import signal

    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(InputError, match="file size limit"):
            save(large, file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert file.read_bytes() == before
    assert [p.name for p in file.parent.iterdir()] == [file.name]


def test_an_interruption_leaves_nothing(tmp_path) -> None:
    from separatrix.storage.files import whole_file

    def half() -> None:
        with whole_file(tmp_path / "x") as out:
            out.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_written_through(tmp_path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "far.txt")
    for text in ("one", "two"):
        write_text(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "far.txt").read_text() == text
    assert {p.name for p in tmp_path.iterdir()} == {"link", "far.txt"}


def test_names_as_long_as_the_disk_allows(tmp_path) -> None:
    write_text(tmp_path / ("é" * 127), "x")
    assert (tmp_path / ("é" * 127)).read_text() == "x"


def test_trouble_with_reading_is_not_blamed_on_the_file_written(tmp_path) -> None:
    with pytest.raises(OSError, match="cut short"), whole_file(tmp_path / "out"):
        raise OSError("cut short")
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written(tmp_path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        write_text(tmp_path / "no" / "x", "")
    with pytest.raises(InputError, match="directory"):
        write_text(tmp_path, "")


# -- moments ---------------------------------------------------------------------------------------


def stored(table: dict, **options) -> StoredMoments:
    import polars as pl

    rows = sx.scan(pl.DataFrame(table), target="y", **options)
    parts = Parts(1, 0.2, 3)
    return StoredMoments(rows.schema, parts, rows.with_parts(parts).reduce(Grouped(Moments())))


def houses(seed: int, n: int = 80, shift: float = 0.0) -> dict:
    rng = np.random.default_rng(seed)
    size = rng.normal(5.0, 2.0, n) + shift
    return {
        "size": [None if rng.random() < 0.1 else float(v) for v in size],
        "town": rng.choice(["a", "b", "c"][: 2 + seed % 2], n).tolist(),
        "y": (size + rng.normal(size=n)).tolist(),
    }


def test_moments_survive_and_bytes_repeat(tmp_path) -> None:
    kept = stored(houses(1))
    save_moments(kept, tmp_path / "a.moments")
    back = load_moments(tmp_path / "a.moments")
    assert back.schema == kept.schema
    assert back.parts == kept.parts
    for part, moments in kept.groups.parts.items():
        assert (back.groups.parts[part].scatter == moments.scatter).all()
        assert back.groups.parts[part].terms == moments.terms
    save_moments(back, tmp_path / "b.moments")
    assert (tmp_path / "a.moments").read_bytes() == (tmp_path / "b.moments").read_bytes()


def test_two_tables_add_up_to_their_union_with_other_levels_and_other_origins() -> None:
    first, second = houses(1), houses(2, shift=100.0)  # two levels here, three there
    both = {name: first[name] + second[name] for name in first}
    total = stored(first) + stored(second)
    whole = stored(both)
    from separatrix.statistics.preparation import design_moments, learn_encoding

    for part, expected in whole.groups.parts.items():
        found = total.groups.parts[part]
        encoding = learn_encoding(whole.schema, expected)
        a = design_moments(encoding, expected)
        b = design_moments(learn_encoding(total.schema, found), found)
        assert a.terms == b.terms
        assert a.count == b.count
        np.testing.assert_allclose(a.mean, b.mean, rtol=1e-10)
        np.testing.assert_allclose(a.scatter, b.scatter, rtol=1e-9, atol=1e-8)


def test_summaries_that_do_not_fit_are_refused_by_column() -> None:
    first = stored(houses(1))
    other = houses(1)
    other["area"] = other.pop("size")
    with pytest.raises(
        InputError, match=r"'size' is only in the first.*'area' is only in the second"
    ):
        first + stored(other)
    with pytest.raises(InputError, match="missing is 'mean' in the first and 'drop' in the second"):
        first + stored(houses(1), missing="drop")
    with pytest.raises(InputError, match="the split is"):
        first + replace(stored(houses(1)), parts=Parts(2, 0.2, 3))
    numeric = houses(1)
    numeric["town"] = list(range(80))
    with pytest.raises(InputError, match="'town' is discrete in the first and numeric"):
        first + stored(numeric)


@pytest.mark.parametrize(
    ("key", "new"),
    [
        ("groups", {}),
        ("groups", {"0": 3}),
        ("groups", {"x": {"is": "record", "of": "Moments", "fields": {}}}),
        ("schema", 3),
        ("parts", None),
    ],
)
def test_damaged_moments_are_refused(tmp_path, key, new) -> None:
    save_moments(stored(houses(1)), tmp_path / "a.moments")
    with pytest.raises(InputError, match=r"a\.moments"):
        load_moments(damage(tmp_path / "a.moments", key, as_is(new)))


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e300, -1.0])
def test_moments_of_no_table_are_refused(tmp_path, number) -> None:
    whole = stored(houses(1))
    key, moments = next(iter(whole.groups.parts.items()))
    scatter = moments.scatter.copy()
    scatter[0, 0] = number
    odd = Moments(
        moments.terms, moments.targets, moments.count, moments.weight, moments.mean, scatter
    )
    save_moments(replace(whole, groups=Grouped(Moments(), {key: odd})), tmp_path / "a.moments")
    with pytest.raises(InputError, match="do not fit together"):
        load_moments(tmp_path / "a.moments")


def test_moments_of_other_columns_than_the_schema_has_are_refused(tmp_path) -> None:
    save_moments(stored(houses(1)), tmp_path / "a.moments")
    header, body = header_of(tmp_path / "a.moments")
    schema = header["__metadata__"]["schema"]
    header["__metadata__"]["schema"] = schema.replace('"size"', '"area"')
    rewrite(tmp_path / "a.moments", header, body)
    with pytest.raises(InputError, match="do not fit together"):
        load_moments(tmp_path / "a.moments")
