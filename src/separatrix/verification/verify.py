"""``verify``: the certificate of a model recomputed from its table, in exact arithmetic.

Tables are read by ``rows``, and rows are assigned to training by ``study``, as they were for the
fit; from there on values are Python's integers and fractions.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

from separatrix.catalogue import DECLARATIONS
from separatrix.messages import InputError
from separatrix.verification.design import Blocks, encode_blocks
from separatrix.verification.stored import File, Record, model_in, read, study_in
from separatrix.verification.training import VerificationRows, rows_of_arrays, rows_of_table
from separatrix.verification.verdict import PROVED, REFUTED, Claim, Verification

WRAPPED = (
    "The claims are those of the {}. What the {} adds (calibration, costs, rejection) is learned "
    "from folds and has no certificate: it is not recomputed."
)


def verify(model: Any, table: Any, target: Any = None, *, weight: Any = None) -> Verification:
    """Recompute the certificate of a model from its table in exact or interval arithmetic.

    Doubles are fractions. Sums of their products, solutions of normal equations, signs of scores
    and comparisons of distances are computed as such, without rounding; roots, exponentials and
    logarithms are enclosed. What a certificate claims is then proved or refuted. The file is read
    byte by byte, and neither NumPy nor a solver of this library takes part.

    Parameters
    ----------
    model : estimator, str or path-like
        A fitted estimator, a ``model.sx`` file, or the directory that contains it.
    table : str, path-like, data frame, array or dict
        The table that the model was fitted to: also its test rows, if it was chosen by a study.
    target : str or array-like, default=None
        The target, where the model was fitted to arrays: its column by name, or its values.
    weight : str or array-like, default=None
        The weights, where the model was fitted to arrays.

    Returns
    -------
    Verification
        Verdicts on every claim, and the total: "proved", "consistent" or "refuted".

    See Also
    --------
    save : Store a model with its certificate.
    run_study : Choose a model for a table.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x, y = np.array([[1.0], [2.0], [4.0], [5.0]]), np.array([1.0, 3.0, 4.0, 7.0])
    >>> model = sx.Ridge(alpha=0.5).fit(x, y)
    >>> sx.verify(model, x, y).verdict
    'proved'
    >>> model.coef_[0] *= 1 + 1e-6
    >>> sx.verify(model, x, y).verdict
    'refuted'
    """
    return verify_with(model, table, target, weight=weight)


def verify_with(
    model: Any,
    table: Any,
    target: Any = None,
    *,
    weight: Any = None,
    text: Any = None,
    progress: Any = None,
) -> Verification:
    """As :func:`verify`; ``text`` says how values are written, ``progress`` is told of stages."""
    if isinstance(model, str | os.PathLike):
        return _verify_file(_model_file(Path(model)), table, target, weight, text, progress)
    from separatrix.storage import save

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.sx"
        save(model, path)
        return _verify_file(path, table, target, weight, text, progress)


def _model_file(path: Path) -> Path:
    inside = path / "model.sx"
    if path.is_dir() and not inside.exists():
        raise InputError(
            "contains no model.sx.",
            file=str(path),
            remedy="Name the directory that separatrix fit or cluster wrote, or the file.",
        )
    return inside if path.is_dir() else path


def _verify_file(
    path: Path, table: Any, target: Any, weight: Any, text: Any, progress: Any
) -> Verification:
    file = read(path)
    whole = model_in(file)
    if not file.intact:
        sentence = "The content of the file does not match its checksum."
        return Verification(whole.of, 0, (Claim("file", REFUTED, sentence),))
    model = core_of(whole)
    declared = DECLARATIONS.get(model.of)
    claims_of = None if declared is None else declared.claims()
    if claims_of is None:
        known = sorted(name for name, other in DECLARATIONS.items() if other.verifier)
        raise InputError(
            f"holds a {model.of}, of which no claim can be recomputed exactly.",
            file=str(path),
            remedy=f"These can: {', '.join(known)}.",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = _rows(path, file, model, table, target, weight, text)
        blocks = Blocks(rows.designs or encode_blocks(rows.blocks(), rows.encoding), progress)
        claims = [*rows.claims, *claims_of(model, blocks)]
    intact = Claim("file", PROVED, "The content of the file matches its checksum.")
    notes = rows.notes if whole is model else (*rows.notes, WRAPPED.format(model.of, whole.of))
    return Verification(whole.of, blocks.n, (intact, *claims), notes)


def core_of(model: Record) -> Record:
    """The model that others wrap: calibrations, costs and rejections have no certificate."""
    while isinstance(model.get("estimator_"), Record):
        model = model["estimator_"]
    return model


def _rows(
    path: Path, file: File, model: Record, table: Any, target: Any, weight: Any, text: Any
) -> VerificationRows:
    """The training rows, from arrays or from a table."""
    by_name = target is None or isinstance(target, str)
    if not by_name or (target is None and _is_matrix(table)):
        return rows_of_arrays(table, target, weight, model)
    return rows_of_table(path, study_in(file), model, table, target, weight, text)


def _is_matrix(table: Any) -> bool:
    named = isinstance(table, str | os.PathLike | dict) or hasattr(table, "columns")
    return not named and (hasattr(table, "shape") or isinstance(table, list))
