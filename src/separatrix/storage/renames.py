"""Names that files of earlier versions have for what is called otherwise today.

A class, field, parameter or attribute that is renamed enters this table in the same change, and
files with the old name are read for good. What was removed because nothing reads it is dropped; a
removal that changes answers has no line here, and such files are refused in one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from separatrix.storage.codec import fields_of
from separatrix.storage.registry import RECORDS, class_in

#: Classes: old name → name today.
CLASSES: dict[str, str] = {}
#: Fields of data classes: class → old name → name today.
FIELDS: dict[str, dict[str, str]] = {
    "LinearScores": {"centre": "center"},
    "QuadraticScores": {"centre": "center"},
    "ProjectedScores": {"centre": "center"},
    "KernelExpansion": {"trained": "n_train"},
    "Separation": {"low": "smallest_margin", "high": "largest_margin"},
    "Entry": {"beside": "secondary"},
}
#: Parameters of estimators: class → old name → name today.
PARAMETERS: dict[str, dict[str, str]] = {"Perceptron": {"learning_rate": "eta0"}}
#: Fitted attributes of estimators: class → old name → name today.
ATTRIBUTES: dict[str, dict[str, str]] = {}
#: Attributes that estimators had no need of before, with the JSON of the value that says the same.
ADDED: dict[str, dict[str, Any]] = {
    "KMeans": {"standardizer_": None},
    "KNeighborsClassifier": {"outputs_2d_": False},
    "KNeighborsRegressor": {"outputs_2d_": False},
}
#: Fields, parameters and attributes that nothing reads any more: class → names.
DROPPED: dict[str, tuple[str, ...]] = {}
#: Data classes that describe and do not predict: what a newer version added to them is left out.
#: Certificates are not among them: one without something that it promises would say too much.
_DESCRIPTIVE = ("separatrix.study.", "separatrix.rows.profile")


def current(value: Any, *, foreign: bool) -> Any:
    """JSON of a file in the names of today.

    In a ``foreign`` file, one of another version, unknown fields of records that only describe are
    dropped; anything else that is unknown stays and is refused when it is decoded.
    """
    if isinstance(value, list):
        return [current(item, foreign=foreign) for item in value]
    if not isinstance(value, dict):
        return value
    value = {key: current(item, foreign=foreign) for key, item in value.items()}
    name = value.get("of")
    if not isinstance(name, str):
        return value
    name = value["of"] = CLASSES.get(name, name)
    if isinstance(value.get("fields"), dict):
        fields = _renamed(value["fields"], FIELDS.get(name, {}), name)
        value["fields"] = _known_fields(fields, name) if foreign else fields
    if isinstance(value.get("state"), dict):
        state = _renamed(value["state"], ATTRIBUTES.get(name, {}), name)
        value["state"] = {**ADDED.get(name, {}), **state} if foreign else state
    if isinstance(value.get("params"), dict):
        value["params"] = _parameters(value["params"], name)
    return value


def _renamed(found: dict[str, Any], names: Mapping[str, str], cls: str) -> dict[str, Any]:
    """Old names replaced, unless the new one is there as well; dropped ones left out."""
    dropped = DROPPED.get(cls, ())
    return {
        names[k] if k in names and names[k] not in found else k: v
        for k, v in found.items()
        if k not in dropped
    }


def _parameters(params: dict[str, Any], cls: str) -> dict[str, Any]:
    """The same for parameters, which are written as a list of pairs."""
    items = params.get("items")
    if params.get("is") != "dict" or not isinstance(items, list):
        return params
    pairs = {p[0]: p[1] for p in items if isinstance(p, list) and len(p) == 2 and _text(p[0])}
    if len(pairs) != len(items):
        return params
    return {
        **params,
        "items": list(map(list, _renamed(pairs, PARAMETERS.get(cls, {}), cls).items())),
    }


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _known_fields(fields: dict[str, Any], name: str) -> dict[str, Any]:
    """Without fields that a record which only describes does not have today."""
    home = RECORDS.get(name, "")
    if not home.startswith(_DESCRIPTIVE):
        return fields
    cls: Any = class_in(RECORDS, name)
    known = fields_of(cls)
    return {k: v for k, v in fields.items() if k in known}
