"""Boxes: rows inside and outside are counted by comparing doubles, which is exact."""

from __future__ import annotations

from fractions import Fraction

from separatrix.verification.arithmetic import exact_sum
from separatrix.verification.design import Blocks, gather
from separatrix.verification.stored import Record
from separatrix.verification.verdict import PROVED, REFUTED, UNCHECKED, Claim, equal


def boxes(model: Record, blocks: Blocks) -> list[Claim]:
    """``BoxClassifier``: errors of the smallest box of each class."""
    design = gather(blocks)
    known = [str(label) for label in model["classes_"].values]
    codes = design.classes(model["classes_"].values)
    weights = design.weights or [1.0] * design.n
    claims = [equal("rows", "Number of training rows", model["n_samples_fit_"], design.n)]
    bounds = model["error_bounds_"].values
    proved = True
    for k, space in enumerate(model["spaces_"]):
        index = known.index(str(model["concepts_"].values[k]))
        inside = [
            _holds(space, row, member=code == index)
            for row, code in zip(design.rows, codes, strict=True)
        ]
        covered = [w for w, c, i in zip(weights, codes, inside, strict=True) if i and c == index]
        others = [w for w, c, i in zip(weights, codes, inside, strict=True) if i and c != index]
        weight = [w for w, c in zip(weights, codes, strict=True) if c == index]
        exact = [exact_sum(part) for part in (covered, weight, others)]
        stored = [Fraction(v) for v in model["counts_"].rows[k]]
        if stored != exact:
            text = ", ".join(
                f"{float(a):g} for {float(b):g}" for a, b in zip(exact, stored, strict=True)
            )
            sentence = (
                f"Rows of class {known[index]!r} inside, in all, and of others: {text} recorded."
            )
            return [*claims, Claim("boxes", REFUTED, sentence)]
        errors = exact[1] - exact[0] + exact[2]
        if errors != Fraction(model["errors_"].values[k]):
            return [
                *claims,
                Claim("boxes", REFUTED, "The errors of a box are not the recorded ones."),
            ]
        proved = proved and (errors == 0 or bounds[k] <= 0)
    claims.append(Claim("boxes", PROVED, "Rows inside and outside of every box are as recorded."))
    if proved:
        return [*claims, Claim("fewest errors", PROVED, "No box has errors: none can have fewer.")]
    sentence = "That no box has fewer errors is the result of a search, which is not repeated."
    return [*claims, Claim("fewest errors", UNCHECKED, sentence)]


def _holds(space: Record, row: list[float], *, member: bool) -> bool:
    """Whether the smallest box holds a row.

    With a perturbation, it holds a member where some place within the bound is inside, and another
    row where all such places are: the box has a column for each of its faces.
    """
    if "doubled" not in space:
        return _contains(space["specific"], row)
    shifts = [0.0 if member else 2.0 * bound for bound in space["perturbation"].values]
    low = [value - shift for value, shift in zip(row, shifts, strict=True)]
    high = [value + shift for value, shift in zip(row, shifts, strict=True)]
    return _contains(space["doubled"]["specific"], low + high)


def _contains(box: Record, row: list[float]) -> bool:
    lower, upper = box["lower"].values, box["upper"].values
    if box["open"]:
        return all(a < x < b for a, x, b in zip(lower, row, upper, strict=True))
    return all(a <= x <= b for a, x, b in zip(lower, row, upper, strict=True))
