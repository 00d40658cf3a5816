"""Answers that workers write where they read the rows: a folder of Parquet files, one a piece.

    FOLDER/part-00000.parquet, FOLDER/part-00001.parquet, …, FOLDER/_manifest.json

Files follow one another as the pieces of the table do, and rows within them as in the table. The
manifest, which is written last, lists them with their numbers of rows: a folder without one is not
complete. A local folder has a temporary name until then; in storage, what a failed run wrote is
removed.
"""

from __future__ import annotations

import json
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from separatrix.cli.ids import Ids, verbatim
from separatrix.messages import InputError, SeparatrixWarning
from separatrix.rows.distributed import decoded_batches
from separatrix.rows.sources.places import is_remote, local_path, storage
from separatrix.rows.sources.reader import BatchReader, DecodedBatch
from separatrix.rows.sources.source import Source
from separatrix.storage.files import atomic_file, cannot_write
from separatrix.temporary import lock, remove_leftovers, temporary_beside

MANIFEST = "_manifest.json"

#: What is answered for a batch: which of its rows, how many it had, columns, and what was counted.
Answer = Callable[[DecodedBatch], tuple[Any, int, list[Any], dict[str, int]]]


@dataclass(frozen=True)
class Written:
    """What a worker wrote of its piece of the table."""

    file: str
    rows: int
    counts: Counter[str] = field(default_factory=Counter)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class PartWriter:
    """Write the answers for a piece of the table as one Parquet file, beside copied columns."""

    folder: str
    answer: Answer
    ids: list[str]
    names: list[str]

    def __call__(self, number: int, piece: Source, reader: BatchReader, rows: int) -> Written:
        """Runs on the worker that reads the piece."""
        import pyarrow as pa

        name = f"part-{number:05d}.parquet"
        written, counts = 0, Counter[str]()
        text = verbatim(piece, self.ids) if self.ids else piece  # no piece knows the others' types
        ids = Ids(piece, self.ids, {name: text.arrow.field(name).type for name in self.ids})
        with (
            warnings.catch_warnings(record=True) as caught,
            _file(f"{self.folder}/{name}") as file,
            parquet(file) as write,
        ):
            warnings.simplefilter("always", SeparatrixWarning)
            for decoded in decoded_batches(piece, reader, rows):
                at, n, columns, counted = self.answer(decoded)
                beside = ids.take_arrow(n)
                if len(at) < n:
                    beside = [values.take(pa.array(at)) for values in beside]
                write(pa.table([*beside, *map(array, columns)], names=[*self.ids, *self.names]))
                written += len(at)
                counts.update(counted)
        messages = [str(w.message) for w in caught if issubclass(w.category, SeparatrixWarning)]
        return Written(name, written, counts, tuple(dict.fromkeys(messages)))


def array(values: Any) -> Any:
    """Classes as text; a number that is not finite is null."""
    import numpy as np
    import pyarrow as pa

    given = np.asarray(values)
    if given.dtype.kind in "OUS":
        return pa.array([None if v is None else str(v) for v in given.tolist()], pa.string())
    return pa.array(given, from_pandas=True)


def write_parts(
    rows: Any, folder: str, answer: Answer, ids: list[str], names: list[str], about: dict[str, Any]
) -> list[Written]:
    """Let the workers answer for all rows, each in its own file; what each of them wrote.

    ``about`` is said of all of them in the manifest. The folder is there when all is written.
    """
    with _folder(folder) as place:
        parts: list[Written] = list(rows.each_piece(PartWriter(place, answer, ids, names)))
        first, listed = 0, []
        for part in parts:
            listed.append({"file": part.file, "first_row": first + 1, "rows": part.rows})
            first += part.rows
        document = {"schema_version": 1, **about, "columns": [*ids, *names], "rows": first}
        text = json.dumps({**document, "parts": listed}, ensure_ascii=False, indent=2) + "\n"
        _remove_other(place, {part.file for part in parts})
        with _file(f"{place}/{MANIFEST}") as file:
            file.write(text.encode())
    return parts


def is_folder(out: str | None) -> bool:
    """Whether ``--out`` names a folder of parts: one that is there, ends in "/", or is storage."""
    return out is not None and (out.endswith("/") or is_remote(out) or Path(out).is_dir())


# -------------------------------------------------------------------------------------------------
# Folders, near and far, whole or not at all.


@contextmanager
def _folder(folder: str) -> Iterator[str]:
    """The folder that parts are written to; it has its name at the end, or is not there."""
    place = local_path(folder).rstrip("/")
    if is_remote(place):
        system, path = storage(place)
        _refuse_other(place, list(system.ls(path, detail=False)) if system.exists(path) else [])
        with suppress(FileNotFoundError):  # while parts are replaced there is no complete folder
            system.rm(f"{path}/{MANIFEST}")
        try:
            yield place
        except BaseException:
            _remove_other(place, set())
            raise
        return
    target = Path(place)
    if target.exists():
        _refuse_other(place, [entry.name for entry in target.iterdir()])
    remove_leftovers(target)
    partial, before = temporary_beside(target), temporary_beside(target)
    try:
        partial.mkdir(parents=False)
        with lock(partial):
            yield str(partial.absolute())
            if target.exists():
                target.rename(before)
            partial.rename(target)
    except OSError as problem:
        raise cannot_write(target, problem) from problem
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(before, ignore_errors=True)


def _refuse_other(place: str, names: list[str]) -> None:
    """A folder of something else is not replaced."""
    names = [name.rstrip("/").rpartition("/")[2] for name in names]
    others = [n for n in names if n != MANIFEST and not n.startswith(("part-", "."))]
    if others or (names and MANIFEST not in names and not is_remote(place)):
        raise InputError(
            "the folder holds other files.", file=place, remedy="Name a folder that is not there."
        )


def _remove_other(place: str, parts: set[str]) -> None:
    """Parts of an earlier or failed run, and what workers that died left."""
    if is_remote(place):
        system, path = storage(place)
        for file in system.ls(path, detail=False) if system.exists(path) else ():
            name = str(file).rpartition("/")[2]
            if name.startswith("part-") and name not in parts:
                system.rm(file)
        return
    for entry in Path(place).iterdir():
        if entry.name not in parts:
            entry.unlink(missing_ok=True)


@contextmanager
def _file(path: str) -> Iterator[IO[bytes]]:
    """A file that appears when all of it is written."""
    if not is_remote(path):
        if not Path(path).parent.is_dir():
            raise InputError(
                "a worker of the cluster does not see this folder.",
                file=path,
                remedy="Write where all workers can: a shared folder, or a store such as s3://.",
            )
        with atomic_file(path) as local:
            yield local
        return
    system, inner = storage(path)
    with system.open(inner, "wb") as far:
        yield far


@contextmanager
def parquet(file: IO[bytes]) -> Iterator[Callable[[Any], None]]:
    """A function that writes tables of one schema, that of the first."""
    import pyarrow.parquet as pq

    writer: pq.ParquetWriter | None = None

    def write(table: Any) -> None:
        nonlocal writer
        if writer is None:
            writer = pq.ParquetWriter(file, table.schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
