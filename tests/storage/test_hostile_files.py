"""Files are closed to whatever did not come from here."""

from __future__ import annotations

import json
import os
import pickle
import struct
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import separatrix as sx
from separatrix.messages import InputError
from separatrix.storage import load, load_moments, save
from separatrix.storage.container import FORMAT_VERSION
from tests.storage.files import X, Y, as_is, damage, header_of, rewrite


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


#: A tuple that holds a number where text belongs.
TUPLE = {"is": "tuple", "items": [3]}


def changed(record: dict, field: str, new) -> dict:
    return {**record, "fields": {**record["fields"], field: new}}


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
    with pytest.raises(InputError, match="classes do not match"):
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


@pytest.mark.parametrize("version", [0, FORMAT_VERSION + 1])
def test_a_file_of_an_unknown_version_is_refused_with_what_to_do(file, version) -> None:
    header, body = header_of(file)
    header["__metadata__"]["format_version"] = str(version)
    rewrite(file, header, body)
    with pytest.raises(InputError, match=f"format version {version};.*Update separatrix"):
        load(file)


def test_a_header_that_claims_to_be_huge_is_refused(file) -> None:
    file.write_bytes(struct.pack("<Q", 2**62) + file.read_bytes()[8:])
    with pytest.raises(InputError, match="not a readable"):
        load(file)


def test_no_name_in_a_file_is_imported(file) -> None:
    sys.modules.pop("antigravity", None)
    for name in ("antigravity", "antigravity.main", "separatrix.storage.container.Damaged"):
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
