"""What is shown of a process of classes: its mode by kernel values computed again, and slopes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from separatrix.bayes.process.classification.binary import BinaryProcess
from separatrix.bayes.process.classification.inducing import InducingBinary
from separatrix.optimize.solution import Certificate

#: Residual of the mode equation, relative to the latent values, that rounding may leave.
TOLERANCE = 1e-7
LAPLACE = "Laplace's approximation"


def certify(processes: Sequence[BinaryProcess | InducingBinary]) -> Certificate:
    """The worst of several processes; their mean evidence."""
    residual = max(one.mode_residual() for one in processes)
    evidence = float(np.mean([one.evidence for one in processes]))
    learned = [one for one in processes if one.learned is not None]
    where = "at a local maximum of its evidence" if learned else "at the given hyperparameters"
    if learned and any(isinstance(one, InducingBinary) for one in processes):
        where = "at a local maximum of Laplace's evidence of some rows"
    several = f"{len(processes)} processes" if len(processes) > 1 else "a process"
    mean = "mean " if len(processes) > 1 else ""
    bounded = any(isinstance(one, InducingBinary) for one in processes)
    notes = [f"The {mean}log evidence is {'at least ' if bounded else ''}{evidence:.8g}."]
    if learned:
        slope = max(_slope(one) for one in learned)
        notes.append(f"Its derivative is at most {slope:.1g} nats per standard error.")
    method = "Variational approximation through inducing points" if bounded else LAPLACE
    return Certificate(
        claim=f"{method} of {several} of two classes, {where}",
        kkt=residual,
        tolerance=TOLERANCE,
        primal=-evidence,
        notes=tuple(notes),
        promised=("kkt",),
    )


def _slope(one: BinaryProcess | InducingBinary) -> float:
    """The largest derivative of the evidence, computed at the end, in nats per standard error."""
    assert one.learned is not None
    curvature = np.maximum(np.diagonal(one.learned.curvature), 0.0)
    slopes = np.abs(one.learned.gradient) / np.sqrt(np.maximum(curvature, 1.0))
    return float((slopes * ~one.learned.at_limit).max(initial=0.0))
