"""Rows for small models, and how a file is taken apart and put together again."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
from safetensors import safe_open

from separatrix.storage.container import digest

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 4)) * [1.0, 1e6, 1e-6, 3.0]
Y = X @ [1.0, 2e-6, 3e6, 0.0] + RNG.normal(size=60)


def header_of(path: Path) -> tuple[dict, bytes]:
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def rewrite(path: Path, header: dict, body: bytes) -> None:
    """Write changed content with a valid checksum, as an attacker would."""
    for _ in range(2):
        text = json.dumps(header).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + body)
        with safe_open(str(path), framework="np") as file:
            tensors = {name: file.get_tensor(name) for name in list(file.keys())}
        header["__metadata__"]["digest"] = digest(header["__metadata__"], tensors)


def damage(file: Path, key: str, change) -> Path:
    header, body = header_of(file)
    value = json.loads(header["__metadata__"][key])
    header["__metadata__"][key] = json.dumps(change(value))
    rewrite(file, header, body)
    return file


def as_is(new):
    return lambda _: new
