"""Container of model and moments files: safetensors with JSON metadata under fixed keys.

    8 bytes  length of the header, little endian
    header   JSON: the metadata and, for each tensor, its type, shape and offsets
    bytes    the tensors one after the other

Written here with sorted keys, so that equal content gives equal bytes; read by the safetensors
library, which checks every offset and length before it allocates an array.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import math
import os
import re
import struct
import sys
import types
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from scipy import sparse

from separatrix import HOMES
from separatrix.arrays import NDArray
from separatrix.catalogue import declaration_of, declared_class
from separatrix.messages import InputError
from separatrix.storage.files import atomic_file

# -------------------------------------------------------------------------------------------------
# The closed lists of data classes that a file may contain, beside declared estimators.
#
# A name in a file is looked up here, or among the classes of ``separatrix.catalogue``, and never
# imported by itself: nothing else can be written or read, so that loading a file runs no code but
# our own and that of classes which the program itself has registered.


#: Data classes by module, restored by calling the constructor with the stored fields.
_RECORDS = {
    "rows.schema": "Term Terms Column Schema Notation Encoding Imputation",
    "rows.parts": "Parts",
    "rows.profile": "ColumnProfile",
    "statistics.moments": "Moments Grouped Standardizer",
    "statistics.triangular": "TriangularFactor",
    "statistics.class_moments": "ClassMoments",
    "optimize.convex": "Certificate Solution LeastSquares",
    "distances.names": "PrecomputedDistances",
    "geometry.hyperplane": "Hyperplane Quadric",
    "kernels.base": "KernelExpansion",
    "geometry.separability": "Separability HullPoints",
    "geometry.class_scores": "LinearScores DiagonalScores QuadraticScores ProjectedScores",
    "geometry.normal": "MultivariateNormal",
    "geometry.discriminant_plane": "DiscriminantPlane",
    "probability.multiclass": "ConstantLabel",
    "probability.calibrations": "SigmoidMap IsotonicMap TemperatureMap",
    "probability.costs": "Costs",
    "probability.decision_surface": "DecisionFunctionSurface DecisionSurface",
    "conformal.base": "Categories Coverage",
    "selection.leave_one_out": "AffineFits",
    "neighbors.k_neighbors": "NeighborFits",
    "discriminant.leave_one_out": "SharedFits QuadraticFits DiagonalFits",
    "bayes.gaussian_process.evidence": "ProcessFits",
    "linear.spectrum": "DesignSpectrum",
    "linear.inference": "FitStatistics",
    "logistic.logistic_regression": "LogisticFitStatistics",
    "additive.basis": "ColumnBasis PairBasis",
    "additive.base": "AdditiveTerm",
    "logistic.problem": "Separation",
    "logistic.gradient_descent": "TrainingTrace",
    "discriminant.covariance_tests": "MardiaTest BoxTest",
    "discriminant.naive_bayes": "ClassColumnMoments NaiveBayesDensity",
    "bayes.predictive": "PredictiveDistribution",
    "bayes.gaussian_process.model": "TrendBasis",
    "bayes.gaussian_process.regressor": "InducingState",
    "bayes.gaussian_process.laplace": "BinaryProcess",
    "bayes.gaussian_process.variational": "InducingBinary",
    "bayes.gaussian_process.learning": "Learned Optimum",
    "bayes.laplace": "Coordinates LaplacePosterior",
    "bayes.sampling": "LogisticSamples",
    "bayes.bayesian_logistic_regression": "PosteriorComparison",
    "perceptron.perceptron": "PerceptronState MistakeTrace",
    "perceptron.perceptron_regressor": "ResidualTrace",
    "kernel_machines.learned_metric": "ColumnMaps",
    "kernel_machines.kernel_ridge": "KernelRidgeFits",
    "svm.path": "SVMTrace",
    "svm.solver": "BinarySVM",
    "neighbors.tuning": "LeaveOneOutErrors",
    "neighbors.kernel_smoothers": "BandwidthSearch",
    "cluster.linkage": "Dendrogram",
    "hypotheses.version_space": "Box VersionSpace PerturbedSpace",
    "hypotheses.box_classifier": "Examples",
    "hypotheses.enclosing": "SpannedEllipsoid",
    "bayes.evidence": "EvidenceSpectrum Posterior EvidenceCurve",
    "cluster.scatter": "ClusterProjection",
    "study.result": (
        "Score StreamRecord ScoresOfClass CrossValidatedScore Entry Choice Difference "
        "Predictions LearningCurve TrainingRows CalibrationCheck Decision CovarianceTests "
        "Margins Study RepeatedScore Repeats OuterFold Nested Calibration CoverageCheck "
        "Uncertainty PredictiveCheck PredictiveBand IntervalScore ColumnImportance "
        "PartialDependence ColumnDistribution ColumnReference "
        "ColumnCorrelations ColumnPairs"
    ),
    "study.description": (
        "ModelDescription ClassCoefficients OddsRatios RegularizationPath StoredRows SVMSearch "
        "BinarySVMFit NeighborSearch Evidence ProcessFit"
    ),
    "estimators.inference": "Inference ModelQuality",
    "study.cluster.result": (
        "Trial Reference Structure Stability Cluster PlottedRows ClusterStudy"
    ),
}

#: Kernels by module. They have a table of their own: some share a name with other data classes.
_KERNELS = {
    "kernels.algebra": "Sum Product Scaled Power Exponential Normalized",
    "kernels.stationary": "Gaussian Constant White Laplace Matern Periodic RationalQuadratic",
    "kernels.learning": "Bounded Fixed",
    "kernels.base": "Precomputed",
    "kernels.vectors": "Linear Polynomial Sigmoid",
    "kernels.structures": (
        "Spectrum Subsequence SetKernel Jaccard TreeKernel SubtreeKernel GraphKernel TermKernel"
    ),
}


def _by_name(modules: Mapping[str, str]) -> dict[str, str]:
    """Class name → module, from module → names."""
    return {
        name: f"separatrix.{module}" for module, names in modules.items() for name in names.split()
    }


RECORDS = _by_name(_RECORDS) | {
    name: home
    for name, home in HOMES.items()
    if home.startswith("separatrix.distances.") and name[0].isupper()
}
KERNELS = _by_name(_KERNELS)
#: Enumerations, stored by value.
ENUMS = {"Kind": "separatrix.rows.schema", "Status": "separatrix.optimize.convex"}


def class_in(table: Mapping[str, str], name: object) -> type[Any] | None:
    """The class that ``table`` lists under ``name``; None for any other name."""
    home = table.get(name) if isinstance(name, str) else None
    if home is None:
        return None
    named_class = getattr(importlib.import_module(home), str(name))
    return named_class if isinstance(named_class, type) else None


def is_listed(table: Mapping[str, str], value: object) -> bool:
    """Whether the class of ``value`` itself (not one of the same name) is in the table."""
    kind = type(value)
    return table.get(kind.__name__) == kind.__module__


# -------------------------------------------------------------------------------------------------
# Encoding of values as JSON plus named tensors, and decoding.
#
# Plain values stay in JSON; numeric arrays become tensors that JSON refers to; our own data classes
# are written as the arguments of their constructor. Anything else is refused.


Tensors = dict[str, NDArray[Any]]

#: Array types of the tensor format, with its names of them.
TENSOR_TYPES = {
    **{"float64": "F64", "float32": "F32", "float16": "F16", "bool": "BOOL"},
    **{f"int{b}": f"I{b}" for b in (8, 16, 32, 64)},
    **{f"uint{b}": f"U{b}" for b in (8, 16, 32, 64)},
}
_TAG = "is"


class DamagedFileError(Exception):
    """The content of a file is not valid."""


# -- writing -----------------------------------------------------------------------------------


def encode(value: Any, tensors: Tensors, path: str) -> Any:
    """``value`` in JSON; its arrays go to ``tensors`` under names that start with ``path``."""
    if value is None or type(value) in (bool, str, int):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {_TAG: "float", "value": repr(value)}
    if type(value) is list:
        return [encode(v, tensors, f"{path}.{i}") for i, v in enumerate(value)]
    if type(value) is tuple:
        return _tagged_types("tuple", items=encode(list(value), tensors, path))
    if type(value) is dict:
        pairs = [
            [encode(k, tensors, f"{path}.key{i}"), encode(v, tensors, f"{path}.{i}")]
            for i, (k, v) in enumerate(value.items())
        ]
        return _tagged_types("dict", items=pairs)
    if isinstance(value, np.ndarray):
        return _encode_array(value, tensors, path)
    if isinstance(value, np.generic):
        return _tagged_types(
            "scalar", dtype=value.dtype.name, value=encode(value.item(), tensors, path)
        )
    if sparse.issparse(value):
        rows = sparse.csr_array(value)
        parts = {k: encode(getattr(rows, k), tensors, f"{path}.{k}") for k in _CSR}
        return _tagged_types("csr", shape=list(rows.shape), **parts)
    return _encode_own(value, tensors, path)


_CSR = ("data", "indices", "indptr")
#: Tables of data classes by the tag under which they are written.
_DATA_CLASSES = {"record": RECORDS, "kernel": KERNELS}


def _encode_own(value: Any, tensors: Tensors, path: str) -> Any:
    """Encode an object of our own: enumeration member, data class or estimator."""
    name = type(value).__name__
    if is_listed(ENUMS, value):
        return _tagged_types("enum", of=name, value=value.value)
    for tag, table in _DATA_CLASSES.items():
        if is_listed(table, value):
            fields = {
                f: encode(getattr(value, f), tensors, f"{path}.{f}")
                for f in _fields(type(value).__init__)
            }
            return _tagged_types(tag, of=name, fields=fields)
    if declaration_of(value) is not None:
        state = {k: v for k, v in sorted(value.__getstate__().items()) if _is_fitted_attribute(k)}
        return _tagged_types(
            "model",
            of=name,
            params=encode(value.get_params(deep=False), tensors, f"{path}.params"),
            state={k: encode(v, tensors, f"{path}.{k}") for k, v in state.items()},
        )
    raise InputError(
        f"cannot be stored: {path} is of type {type(value).__module__}.{type(value).__qualname__}.",
        remedy="Only plain values, arrays and estimators of this library can be saved.",
    )


def _encode_array(value: NDArray[Any], tensors: Tensors, path: str) -> Any:
    if value.dtype.name in TENSOR_TYPES:
        tensors[path] = value
        return _tagged_types("array", tensor=path)
    items = value.ravel().tolist()
    if value.dtype.kind == "U" or (items and all(type(item) is str for item in items)):
        levels, codes = np.unique(value.astype(str), return_inverse=True)
        tensors[path] = codes.reshape(value.shape).astype(np.int32)
        text = value.dtype.kind == "U"
        return _tagged_types("labels", tensor=path, levels=levels.tolist(), text=text)
    if value.dtype == object:
        return _tagged_types("objects", shape=list(value.shape), items=encode(items, tensors, path))
    raise InputError(f"cannot be stored: {path} is an array of type {value.dtype}.")


def _is_fitted_attribute(name: str) -> bool:
    """By scikit-learn's convention; a leading underscore (training rows) is not stored."""
    return name.endswith("_") and not name.startswith("_")


def fields_of(cls: type[Any]) -> tuple[str, ...]:
    """The fields of a data class, as its constructor takes them."""
    return _fields(cls.__init__)


@cache
def _fields(init: Callable[..., None]) -> tuple[str, ...]:
    """The parameter names of a constructor."""
    return tuple(inspect.signature(init).parameters)[1:]


@cache
def _required_parameters(init: Callable[..., None]) -> tuple[str, ...]:
    """The parameters of a constructor that have no default."""
    parameters = inspect.signature(init).parameters
    empty = inspect.Parameter.empty
    return tuple(name for name in _fields(init) if parameters[name].default is empty)


def _tagged_types(tag: str, **content: Any) -> dict[str, Any]:
    return {_TAG: tag, **content}


# -- reading -----------------------------------------------------------------------------------


def decode(value: Any, tensors: Tensors) -> Any:
    """The inverse of :func:`encode`; raises :class:`DamagedFileError` for any other content."""
    if isinstance(value, list):
        return [decode(v, tensors) for v in value]
    if not isinstance(value, dict):
        return value
    tag = value.get(_TAG)
    reader = _READERS.get(tag) if isinstance(tag, str) else None
    if reader is None:
        raise DamagedFileError(f"unknown content {str(tag)[:40]!r}")
    try:
        return reader(value, tensors)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise DamagedFileError(f"{value[_TAG]}: {problem}") from problem


def _read_labels(value: dict[str, Any], tensors: Tensors) -> NDArray[Any]:
    levels = np.array([str(level) for level in _list(value["levels"])], dtype=str)
    codes = tensors[value["tensor"]]
    if codes.dtype.kind != "i" or (codes < 0).any() or (codes >= len(levels)).any():
        raise DamagedFileError("labels do not match their levels")
    labels = levels[codes]
    return labels if value["text"] else labels.astype(object)


def _read_objects(value: dict[str, Any], tensors: Tensors) -> NDArray[Any]:
    items = decode(_list(value["items"]), tensors)
    flat = np.empty(len(items), dtype=object)
    flat[:] = items
    return flat.reshape(value["shape"])


def _read_scalar(value: dict[str, Any], tensors: Tensors) -> Any:
    if value["dtype"] not in TENSOR_TYPES and not str(value["dtype"]).startswith("str"):
        raise DamagedFileError(f"unknown number type {value['dtype']!r}")
    item = decode(value["value"], tensors)
    return np.str_(item) if isinstance(item, str) else np.dtype(value["dtype"]).type(item)


def _read_csr(value: dict[str, Any], tensors: Tensors) -> Any:
    parts = tuple(decode(value[k], tensors) for k in _CSR)
    rows = sparse.csr_array(parts, shape=tuple(value["shape"]))
    rows.check_format(full_check=True)
    return rows


def _read_record(value: dict[str, Any], tensors: Tensors) -> Any:
    cls = _known(class_in(_DATA_CLASSES[value[_TAG]], value["of"]), value)
    fields = {str(k): decode(v, tensors) for k, v in value["fields"].items()}
    unknown = sorted(set(fields) - set(_fields(cls.__init__)))
    if unknown:
        raise DamagedFileError(f"{value['of']} has no field {unknown[0]!r}")
    absent = [name for name in _required_parameters(cls.__init__) if name not in fields]
    if absent:
        raise DamagedFileError(f"{value['of']} lacks its field {absent[0]!r}")
    _check(fields, _hints_of(cls.__init__), value["of"])
    return cls(**fields)


def _read_model(value: dict[str, Any], tensors: Tensors) -> Any:
    cls = _known(declared_class(value["of"]), value)
    params = decode(value["params"], tensors)
    unknown = sorted(set(params) - set(_fields(cls.__init__)))
    if unknown:  # an absent parameter has its default
        raise DamagedFileError(f"{value['of']} has no parameter {str(unknown[0])[:60]!r}")
    model = cls(**params)
    for name, content in value["state"].items():
        if not _is_fitted_attribute(name) or isinstance(getattr(cls, name, None), property):
            raise DamagedFileError(f"{value['of']} has no attribute {name!r} to restore")
        setattr(model, name, decode(content, tensors))
    fitted = {k: v for k, v in vars(model).items() if k not in params}  # which ``fit`` checks
    _check(fitted, _hints_of(cls), value["of"])
    return model


def _check(parameters: dict[str, Any], hints: dict[str, Any], name: str) -> None:
    """Refuse values whose type is not the annotated one."""
    for key, hint in hints.items():
        if key in parameters and not _fits(parameters[key], hint):
            raise DamagedFileError(f"{name}: {key!r} is of another type")


#: Types accepted for an annotated number: those of NumPy too, but not booleans.
_NUMBERS: dict[type, tuple[type, ...]] = {
    int: (int, np.integer),
    float: (int, float, np.integer, np.floating),
    bool: (bool, np.bool_),
}


#: The annotations of a constructor's parameters, or of a class's attributes.
_hints_of: Callable[[Any], dict[str, Any]] = cache(get_type_hints)


def _fits(value: Any, hint: Any) -> bool:
    """Whether ``value`` agrees with the annotation ``hint``, down to the items it holds."""
    if hint is Any:
        return True
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _array_fits(value, inner)
    if origin is tuple:
        return isinstance(value, tuple) and _each_fits(value, inner)
    if origin is dict:
        return isinstance(value, dict) and all(
            _fits(k, inner[0]) and _fits(v, inner[1]) for k, v in value.items()
        )
    if origin is list:
        return isinstance(value, list) and all(_fits(item, inner[0]) for item in value)
    if hint in _NUMBERS:
        return isinstance(value, _NUMBERS[hint]) and (hint is bool or not isinstance(value, bool))
    kind = origin or hint
    return isinstance(value, kind) if isinstance(kind, type) else True


def _each_fits(value: tuple[Any, ...], inner: tuple[Any, ...]) -> bool:
    if inner[1:] == (...,):
        return all(_fits(item, inner[0]) for item in value)
    return len(value) == len(inner) and all(map(_fits, value, inner))


def _array_fits(array: np.ndarray[Any, Any], inner: tuple[Any, ...]) -> bool:
    """Whether an array has the annotated type of number; integers are accepted as floats."""
    expected = get_args(inner[1])[0] if len(inner) > 1 and get_args(inner[1]) else Any
    if expected is np.float64:
        return array.dtype.kind in "fiu"
    return expected is Any or issubclass(array.dtype.type, expected)


def _known(cls: type[Any] | None, value: dict[str, Any]) -> type[Any]:
    if cls is None:
        raise DamagedFileError(
            f"{str(value['of'])[:60]!r} is not one of the classes that a file may hold"
        )
    return cls


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise DamagedFileError("a list is missing")
    return value


_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_READERS: dict[str, Callable[[dict[str, Any], Tensors], Any]] = {
    "float": lambda value, _: _NOT_FINITE[value["value"]],
    "tuple": lambda value, tensors: tuple(decode(_list(value["items"]), tensors)),
    "dict": lambda value, tensors: {
        decode(k, tensors): decode(v, tensors) for k, v in _list(value["items"])
    },
    "array": lambda value, tensors: tensors[value["tensor"]],
    "labels": _read_labels,
    "objects": _read_objects,
    "scalar": _read_scalar,
    "csr": _read_csr,
    "enum": lambda value, _: _known(class_in(ENUMS, value["of"]), value)(value["value"]),
    "record": _read_record,
    "kernel": _read_record,
    "model": _read_model,
}


# -------------------------------------------------------------------------------------------------
# The container itself.


#: Version of the format.
FORMAT_VERSION = 1

_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False
)


def write(
    path: str | os.PathLike[str], kind: str, content: dict[str, Any], arrays: Tensors
) -> None:
    """Write ``content`` (JSON values by key) and the tensors under the format name ``kind``."""
    tensors = {name: _little_endian(arrays[name]) for name in sorted(arrays)}
    content = {"versions": {"separatrix": ours()}, **content}
    metadata = {key: _CANONICAL.encode(value) for key, value in content.items()}
    metadata |= {"format": kind, "format_version": str(FORMAT_VERSION)}
    metadata["digest"] = digest(metadata, tensors)
    header: dict[str, Any] = {"__metadata__": metadata}
    start = 0
    for name, array in tensors.items():
        stop = start + array.nbytes
        layout = {"dtype": TENSOR_TYPES[array.dtype.name], "shape": list(array.shape)}
        header[name] = {**layout, "data_offsets": [start, stop]}
        start = stop
    text = _CANONICAL.encode(header).encode()
    text += b" " * (-len(text) % 8)  # tensors start on a multiple of eight bytes
    with atomic_file(path) as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for array in tensors.values():
            file.write(array.tobytes())


def digest(metadata: dict[str, str], tensors: Tensors) -> str:
    """Checksum of all content of a file, to detect any changed bit."""
    total = hashlib.blake2b(digest_size=16)
    for key in sorted(metadata):
        if key != "digest":
            total.update(f"{key}\0{metadata[key]}\0".encode())
    for name in sorted(tensors):
        array = tensors[name]
        total.update(f"{name}\0{array.dtype.name}\0{array.shape}\0".encode())
        total.update(_little_endian(array).tobytes())
    return total.hexdigest()


def _little_endian(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array = np.ascontiguousarray(array).reshape(array.shape)
    big = array.dtype.byteorder == ">" or (array.dtype.byteorder == "=" and sys.byteorder == "big")
    return array.astype(array.dtype.newbyteorder("<")) if big else array


class Container:
    """A file opened for reading: its kind and version checked, its tensors in memory."""

    def __init__(self, path: str | os.PathLike[str], kind: str) -> None:
        from safetensors import SafetensorError, safe_open

        self.path = Path(path)
        _refuse_unreadable(self.path)
        try:
            with safe_open(str(self.path), framework="np") as file:
                self.metadata: dict[str, str] = file.metadata() or {}
                self.tensors: Tensors = {k: file.get_tensor(k) for k in list(file.keys())}
        except (SafetensorError, OSError, ValueError, KeyError, TypeError, MemoryError) as problem:
            raise InputError(
                f"is not a readable {kind} file: it is truncated, damaged, or something else "
                f"({str(problem)[:120]}).",
                file=str(path),
                remedy=_REMEDY,
            ) from problem
        self._check_format(kind)
        if self.metadata.get("digest") != digest(self.metadata, self.tensors):
            raise self._invalid("its content does not match its checksum")
        #: Whether another version of the library wrote the file.
        self.foreign = self._writer() != ours()

    def _check_format(self, kind: str) -> None:
        found = self.metadata.get("format")
        if found != kind:
            what = "no separatrix file" if found is None else f"a {found[:60]} file"
            raise InputError(f"is {what}; a {kind} file is needed.", file=str(self.path))
        version = self.metadata.get("format_version", "")
        if not version.isdecimal() or len(version) > 9:
            raise InputError("has no valid format version.", file=str(self.path), remedy=_REMEDY)
        if int(version) != FORMAT_VERSION:
            raise self._of_another_version(f"only format version {FORMAT_VERSION}")

    def _writer(self) -> str:
        """The version of separatrix that wrote the file; empty if it does not say."""
        try:
            versions: Any = json.loads(self.metadata.get("versions", "{}"))
        except (ValueError, RecursionError):
            return ""
        text = versions.get("separatrix") if isinstance(versions, dict) else None
        return text if isinstance(text, str) and re.fullmatch(r"[\w.+!-]{1,40}", text) else ""

    def __contains__(self, key: str) -> bool:
        return key in self.metadata

    def json(self, key: str) -> Any:
        """The JSON under ``key``, not decoded further."""
        if key not in self.metadata:
            raise self.damaged(f"{key!r} is missing")
        try:
            return json.loads(self.metadata[key])
        except (ValueError, RecursionError) as problem:
            raise self.damaged(f"{key!r} is not JSON") from problem

    def value(self, key: str) -> Any:
        """The value under ``key``, rebuilt."""
        return self.rebuild(self.json(key))

    def rebuild(self, value: Any) -> Any:
        """Decode a value from its JSON form; any error becomes a refusal of the file."""
        try:
            known = without_new_descriptions(value) if self.foreign else value
            return decode(known, self.tensors)
        except (DamagedFileError, InputError) as problem:
            raise self.damaged(str(problem)) from problem
        except RecursionError as problem:
            raise self.damaged("it is nested too deeply") from problem
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as problem:
            raise self.damaged(f"a value that does not fit: {problem}") from problem

    def damaged(self, reason: str) -> InputError:
        """The refusal of a file whose content is not valid, or not yet."""
        if not is_newer(self._writer()):
            return self._invalid(reason)
        return self._of_another_version(f"no such content ({reason[:200]})")

    def _of_another_version(self, reads: str) -> InputError:
        """The refusal of a file that another version of separatrix can read."""
        writer, version = self._writer(), self.metadata["format_version"]
        return InputError(
            f"was written by separatrix{f' {writer}' if writer else ''}, format version "
            f"{version}; this separatrix {ours()} reads {reads}.",
            file=str(self.path),
            remedy="Update separatrix, or fit and save it again with this one.",
        )

    def _invalid(self, reason: str) -> InputError:
        return InputError(
            f"the content is damaged or was not written by separatrix ({reason[:200]}).",
            file=str(self.path),
            remedy=_REMEDY,
        )


_REMEDY = "Write it again with separatrix, or copy it again from its source."


def _refuse_unreadable(path: Path) -> None:
    if path.is_dir():
        raise InputError("is a directory.", file=str(path), remedy="Name the file in it.")
    if not path.exists():
        raise InputError("does not exist.", file=str(path), remedy="Check the path.")
    if not path.is_file():
        raise InputError(
            "is not a file on a disk.", file=str(path), remedy="Save it as a file and name that."
        )


# -------------------------------------------------------------------------------------------------
# Versions of files and of the library that wrote them.
#
# ``format_version`` is a whole number that changes only where an older reader could answer wrongly.
# New keys and new fields with defaults do not change it.


def ours() -> str:
    """The version of separatrix that is running."""
    return installed("separatrix")


def is_newer(writer: str) -> bool:
    """Whether a version of separatrix comes after the one that is running."""
    return _numbers(writer) > _numbers(ours())


def _numbers(version: str) -> tuple[int, ...]:
    """Leading numbers of a version: 1.10.2 → (1, 10, 2)."""
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part[:9]) for part in match[0].split(".")) if match else ()


#: Data classes that describe and do not predict: what a newer version added to them is left out.
#: Certificates are not among them: one without something that it promises would say too much.
_DESCRIPTIVE = ("separatrix.study.", "separatrix.rows.profile")


def without_new_descriptions(value: Any) -> Any:
    """JSON of a file without unknown fields of records that only describe.

    Anything else that is unknown stays and is refused when it is decoded.
    """
    if isinstance(value, list):
        return [without_new_descriptions(item) for item in value]
    if not isinstance(value, dict):
        return value
    value = {key: without_new_descriptions(item) for key, item in value.items()}
    name, fields = value.get("of"), value.get("fields")
    if not isinstance(name, str) or not isinstance(fields, dict):
        return value
    if RECORDS.get(name, "").startswith(_DESCRIPTIVE):
        cls: Any = class_in(RECORDS, name)
        known = fields_of(cls)
        value["fields"] = {k: v for k, v in fields.items() if k in known}
    return value
