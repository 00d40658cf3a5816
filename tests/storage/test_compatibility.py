"""Files of this version and of older ones: an answer, the same to 1e-12, or one sentence."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import separatrix as sx
from separatrix.messages import InputError
from separatrix.storage import load_moments, load_study
from separatrix.storage.container import (
    CLASSES,
    FIELDS,
    FORMAT_VERSION,
    MIGRATIONS,
    PARAMETERS,
    is_newer,
)
from separatrix.storage.registry import KERNELS, MODELS, RECORDS, class_in
from tests.storage.files import header_of, rewrite

STORED = Path(__file__).parent / "stored"
VERSIONS = sorted(int(place.name.removeprefix("version")) for place in STORED.iterdir())


def place(version: int) -> Path:
    return STORED / f"version{version}"


def expected(version: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((place(version) / "expected.json").read_text())
    return found


FILES = [(version, name) for version in VERSIONS for name in expected(version)["files"]]
REFUSED = [(version, name) for version in VERSIONS for name in expected(version).get("refused", [])]


def close(found: Any, stored: list[Any]) -> bool:
    found, wanted = np.asarray(found), np.asarray(stored)
    if wanted.dtype.kind == "U":
        return bool((found == wanted).all())
    return bool(np.allclose(found, wanted, rtol=1e-12, atol=1e-12))


def test_there_are_files_of_every_version() -> None:
    assert list(range(1, FORMAT_VERSION + 1)) == VERSIONS
    assert sorted(MIGRATIONS) == VERSIONS[:-1]


@pytest.mark.parametrize(("version", "name"), FILES, ids=lambda value: str(value))
def test_models_of_every_version_answer_as_they_did(version: int, name: str) -> None:
    stored = expected(version)
    model = sx.load(place(version) / f"{name}.sx")
    for method, answers in stored["files"][name].items():
        assert close(getattr(model, method)(np.array(stored["rows"])), answers), method


@pytest.mark.parametrize(("version", "name"), REFUSED, ids=lambda value: str(value))
def test_what_cannot_be_read_any_more_is_refused_in_one_sentence(version: int, name: str) -> None:
    with pytest.raises(InputError) as refusal:
        sx.load(place(version) / f"{name}.sx")
    text = str(refusal.value)
    assert f"was written by separatrix 0.1.0, format version {version}" in text
    assert "Fit and save it again." in text
    assert "damaged" not in text


@pytest.mark.parametrize("version", VERSIONS)
def test_models_of_studies_read_tables_as_they_did(version: int) -> None:
    stored = expected(version)["study"]
    names = [name for name in ("a", "b", "color") if name in stored]
    columns = {n: np.array([_value(v, n) for v in stored[n]], dtype=_type(n)) for n in names}
    model = sx.load(place(version) / "study.sx")
    assert close(model.predict(sx.scan(columns)), stored["predicted"])
    if version == 1:  # studies had no description of the model
        with pytest.raises(InputError, match=r"format version 1, .*Study lacks its field"):
            load_study(place(version) / "study.sx")
        return
    assert load_study(place(version) / "study.sx").winner == stored["winner"]


def _value(value: Any, name: str) -> Any:
    return np.nan if value is None and name != "color" else value


def _type(name: str) -> Any:
    return object if name == "color" else float


@pytest.mark.parametrize("version", [v for v in VERSIONS if "moments" in expected(v)])
def test_moments_of_every_version_are_read(version: int) -> None:
    stored = expected(version)["moments"]
    total = load_moments(place(version) / "table.moments").groups.total()
    assert total.count == stored["count"]
    if "mean" in stored:
        assert close(total.mean, stored["mean"])


def test_moments_of_classes_are_read_and_studied() -> None:
    stored = load_moments(place(FORMAT_VERSION) / "classes.moments")
    study = sx.run_study(stored, models=["lda"])
    assert study.n_train + study.n_test == 30
    assert study.classes == ("a", "b")


def changed(source: Path, target: Path, **metadata: str) -> Path:
    shutil.copy(source, target)
    header, body = header_of(target)
    header["__metadata__"].update(metadata)
    rewrite(target, header, body)
    return target


def test_a_file_of_a_newer_format_names_the_version_that_wrote_it(tmp_path) -> None:
    source = place(FORMAT_VERSION) / "Ridge.sx"
    newer = str(FORMAT_VERSION + 1)
    versions = json.dumps({"separatrix": "9.1.0"})
    file = changed(source, tmp_path / "m.sx", format_version=newer, versions=versions)
    with pytest.raises(InputError, match=rf"separatrix 9\.1\.0, format version {newer}.*Update"):
        sx.load(file)


def test_new_keys_and_new_descriptions_of_a_newer_version_are_ignored(tmp_path) -> None:
    source = place(FORMAT_VERSION) / "study.sx"
    header, _ = header_of(source)
    study = json.loads(header["__metadata__"]["study"])
    study["fields"]["a_new_field"] = [1, 2]
    newer = json.dumps({"separatrix": "9.1.0"})
    file = changed(
        source, tmp_path / "m.sx", study=json.dumps(study), versions=newer, a_new_key="[1]"
    )
    assert load_study(file).winner == expected(FORMAT_VERSION)["study"]["winner"]
    assert sx.load(file).predict([[0.0, 1.0]]).shape == (1,)


def test_a_new_attribute_that_may_change_answers_is_refused_by_name(tmp_path) -> None:
    source = place(FORMAT_VERSION) / "LinearDiscriminantAnalysis.sx"
    header, _ = header_of(source)
    text = header["__metadata__"]["attributes"].replace('"center":', '"focus":', 1)
    newer = json.dumps({"separatrix": "9.1.0"})
    file = changed(source, tmp_path / "m.sx", attributes=text, versions=newer)
    with pytest.raises(InputError, match=r"separatrix 9\.1\.0.*no field 'focus'.*Update"):
        sx.load(file)


def test_versions_are_compared_by_number() -> None:
    assert is_newer("0.10.0")
    assert is_newer("1.0rc1")
    assert not is_newer("0.0.9")
    assert not is_newer("")


def test_renames_lead_to_names_of_today() -> None:
    known = {**MODELS, **RECORDS, **KERNELS}
    assert set(CLASSES.values()) <= set(known)
    for name, fields in FIELDS.items():
        annotations = class_in(known, name).__dataclass_fields__  # type: ignore[union-attr]
        assert set(fields.values()) <= set(annotations), name
        assert not set(fields) & set(annotations), name
    for name, parameters in PARAMETERS.items():
        today = class_in(MODELS, name)().get_params()  # type: ignore[misc]
        assert set(parameters.values()) <= set(today)
        assert not set(parameters) & set(today)


def test_the_reader_of_the_guide_reads_a_file() -> None:
    """The plain Python of docs/model-file.md, run on a stored file."""
    page = (Path(__file__).parents[2] / "docs" / "model-file.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert code is not None
    source = code[1].replace('"model.sx"', repr(str(place(FORMAT_VERSION) / "LinearRegression.sx")))
    assert len(source.splitlines()) <= 24
    found: dict[str, Any] = {}
    exec(source, found)  # the page's own example
    model = sx.load(place(FORMAT_VERSION) / "LinearRegression.sx")
    assert found["predict"]([1.0, 2.0, 3.0]) == pytest.approx(model.predict([[1.0, 2.0, 3.0]])[0])
