"""A file is written whole, or not at all."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

import separatrix as sx
from separatrix.messages import InputError
from separatrix.storage import save
from separatrix.storage.files import atomic_file, write_text
from tests.storage.files import RNG


def test_a_full_disk_is_reported_and_nothing_is_left(model, tmp_path) -> None:
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
    from separatrix.storage.files import atomic_file

    def half() -> None:
        with atomic_file(tmp_path / "x") as out:
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
    with pytest.raises(OSError, match="cut short"), atomic_file(tmp_path / "out"):
        raise OSError("cut short")
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written(tmp_path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        write_text(tmp_path / "no" / "x", "")
    with pytest.raises(InputError, match="directory"):
        write_text(tmp_path, "")
