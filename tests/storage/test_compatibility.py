"""Files written earlier: an answer, the same to 1e-12; of other versions, one sentence."""

from __future__ import annotations

import json
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import separatrix as sx
from separatrix.messages import InputError
from separatrix.storage import load_moments, load_study
from separatrix.storage.container import FORMAT_VERSION, is_newer
from tests.storage.files import header_of, rewrite

STORED = Path(__file__).parent / "stored"
EXPECTED: dict[str, Any] = json.loads((STORED / "expected.json").read_text())


def close(found: Any, stored: list[Any]) -> bool:
    found, wanted = np.asarray(found), np.asarray(stored)
    if wanted.dtype.kind == "U":
        return bool((found == wanted).all())
    return bool(np.allclose(found, wanted, rtol=1e-12, atol=1e-12))


@pytest.mark.parametrize("name", EXPECTED["files"])
def test_stored_models_answer_as_they_did(name: str) -> None:
    model = sx.load(STORED / f"{name}.sx")
    for method, answers in EXPECTED["files"][name].items():
        assert close(getattr(model, method)(np.array(EXPECTED["rows"])), answers), method


def test_the_model_of_a_stored_study_reads_tables_as_it_did() -> None:
    stored = EXPECTED["study"]
    columns = {
        n: np.array([_value(v, n) for v in stored[n]], dtype=_type(n)) for n in ("a", "color")
    }
    model = sx.load(STORED / "study.sx")
    assert close(model.predict(sx.scan(columns)), stored["predicted"])
    assert load_study(STORED / "study.sx").winner == stored["winner"]


def _value(value: Any, name: str) -> Any:
    return np.nan if value is None and name != "color" else value


def _type(name: str) -> Any:
    return object if name == "color" else float


def test_stored_moments_are_read() -> None:
    total = load_moments(STORED / "table.moments").groups.total()
    assert total.count == EXPECTED["moments"]["count"]
    assert close(total.mean, EXPECTED["moments"]["mean"])


def test_moments_of_classes_are_read_and_studied() -> None:
    stored = load_moments(STORED / "classes.moments")
    study = sx.run_study(stored, models=["lda"])
    assert study.n_train + study.n_test == 30
    assert study.classes == ("a", "b")


def changed(source: Path, target: Path, **metadata: str) -> Path:
    shutil.copy(source, target)
    header, body = header_of(target)
    header["__metadata__"].update(metadata)
    rewrite(target, header, body)
    return target


@pytest.mark.parametrize("version", [FORMAT_VERSION - 1, FORMAT_VERSION + 1])
@pytest.mark.parametrize(
    ("name", "read"),
    [("Ridge.sx", sx.load), ("study.sx", load_study), ("table.moments", load_moments)],
)
def test_a_file_of_another_format_is_refused_in_one_sentence(
    tmp_path: Path, name: str, read: Callable[[Path], Any], version: int
) -> None:
    versions = json.dumps({"separatrix": "9.1.0"})
    file = changed(STORED / name, tmp_path / name, format_version=str(version), versions=versions)
    with pytest.raises(InputError) as refusal:
        read(file)
    text = str(refusal.value)
    assert f"was written by separatrix 9.1.0, format version {version};" in text
    assert "Update separatrix, or fit and save it again" in text
    assert "damaged" not in text
    assert len(text.splitlines()) == 1


def test_a_file_without_its_checksum_is_refused(tmp_path: Path) -> None:
    header, body = header_of(STORED / "Ridge.sx")
    del header["__metadata__"]["digest"]
    text = json.dumps(header).encode()
    (tmp_path / "m.sx").write_bytes(struct.pack("<Q", len(text)) + text + body)
    with pytest.raises(InputError, match="does not match its checksum"):
        sx.load(tmp_path / "m.sx")


def test_new_keys_and_new_descriptions_of_a_newer_version_are_ignored(tmp_path) -> None:
    source = STORED / "study.sx"
    header, _ = header_of(source)
    study = json.loads(header["__metadata__"]["study"])
    study["fields"]["a_new_field"] = [1, 2]
    newer = json.dumps({"separatrix": "9.1.0"})
    file = changed(
        source, tmp_path / "m.sx", study=json.dumps(study), versions=newer, a_new_key="[1]"
    )
    assert load_study(file).winner == EXPECTED["study"]["winner"]
    assert sx.load(file).predict([[0.0, 1.0]]).shape == (1,)


def test_a_new_attribute_that_may_change_answers_is_refused_by_name(tmp_path) -> None:
    source = STORED / "LinearDiscriminantAnalysis.sx"
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


def test_the_reader_of_the_guide_reads_a_file() -> None:
    """The plain Python of docs/model-file.md, run on a stored file."""
    page = (Path(__file__).parents[2] / "docs" / "model-file.md").read_text(encoding="utf-8")
    code = re.search(r"```py\n(.*?)```", page, re.DOTALL)
    assert code is not None
    source = code[1].replace('"model.sx"', repr(str(STORED / "LinearRegression.sx")))
    assert len(source.splitlines()) <= 24
    found: dict[str, Any] = {}
    exec(source, found)  # the page's own example
    model = sx.load(STORED / "LinearRegression.sx")
    assert found["predict"]([1.0, 2.0, 3.0]) == pytest.approx(model.predict([[1.0, 2.0, 3.0]])[0])
