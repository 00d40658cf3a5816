"""Models of strings, sets, trees and graphs in files: plain values, nothing that runs."""

from __future__ import annotations

import json

import numpy as np
import pytest

import separatrix as sx
from separatrix.kernels import Custom
from separatrix.storage.container import DamagedFileError, decode, encode
from tests.registry.kernels import conjunctions, graphs, sets, texts, trees

KINDS = [
    (sx.Spectrum(2).normalized(), texts),
    (sx.Subsequence(2, 0.5) + sx.Spectrum(1), texts),
    (sx.Jaccard(), sets),
    ((0.5 * sx.SetKernel()).exp(), sets),
    (sx.TreeKernel(0.5), trees),
    (sx.GraphKernel(2), graphs),
    (sx.TermKernel(2), conjunctions),
]


@pytest.mark.parametrize(("kernel", "items"), KINDS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_models_of_structures_come_back_as_they_were(kernel, items, tmp_path) -> None:
    x = items(np.random.default_rng(0), 30)
    y = np.where(np.arange(30) % 2, "odd", "even")
    model = sx.KernelPerceptron(kernel=kernel, max_epochs=5).fit(x, y)
    sx.save(model, tmp_path / "model.sx")
    back = sx.load(tmp_path / "model.sx")
    assert back.kernel == kernel
    new = items(np.random.default_rng(1), 20)
    assert (back.decision_function(new) == model.decision_function(new)).all()


def test_functions_are_not_stored() -> None:
    with pytest.raises(sx.InputError, match="cannot be stored"):
        encode(Custom(np.dot), {}, "kernel")


@pytest.mark.parametrize(
    "content",
    [
        {"of": "Gaussian", "fields": {"bandwidth": -1.0}},
        {"of": "Gaussian", "fields": {"bandwidth": "wide"}},
        {"of": "Gaussian", "fields": {"nonsense": 1.0}},
        {"of": "Custom", "fields": {"function": "os.system"}},
        {"of": "Exponential", "fields": {"kernel": 3}},
        {"of": "Hyperplane", "fields": {}},
    ],
)
def test_damaged_kernels_are_refused(content) -> None:
    with pytest.raises(DamagedFileError):
        decode(json.loads(json.dumps({"is": "kernel", **content})), {})
