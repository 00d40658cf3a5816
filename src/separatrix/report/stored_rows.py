"""A winner that is made of training rows instead of coefficients, in words."""

from __future__ import annotations

from separatrix.optimize.solution import Certificate
from separatrix.pictures.formatting import counted, number
from separatrix.report.tables import MOST_ROWS, Cell, Line, Table, figure
from separatrix.study.result import Study
from separatrix.study.stored_rows import memory_of
from separatrix.svm.base import KernelSVM


def rows_kept_words(study: Study) -> str:
    """What is kept, how it answers, and what was chosen for it; empty for other winners."""
    core, kept = study.core, memory_of(study.core)
    if not kept:
        return ""
    text = f"The model keeps {kept}; they are in model.sx, so give it only to those who may see "
    text += "them. "
    if hasattr(core, "n_neighbors_"):
        among = counted(core.n_neighbors_, "remembered row")
        what = "mean" if study.task == "regression" else "vote"
        return text + f"A new row is answered by the {what} of the nearest {among}."
    if hasattr(core, "bandwidth_"):
        tube = f", tube ± {number(core.epsilon_, 3)}" if hasattr(core, "epsilon_") else ""
        text += (
            "A new row’s score adds up its closeness to each of them, which fades with a bandwidth "
            f"of {number(core.bandwidth_, 3)} deviations; C = {number(core.C_, 3)}{tube}, all "
            f"chosen on held-out parts of {counted(core.n_search_rows_, 'row')}, among "
            f"{counted(len(core.bandwidths_), 'bandwidth')} and all prices along each."
        )
    return text.strip()


def svm_table(study: Study) -> Table | None:
    """Primal and dual value, gap and violation of each machine.

    None for other winners, and for one machine alone, whose certificate is that of the model.
    """
    core = study.core
    if isinstance(core, KernelSVM):
        found = [(m.certificate, f"{len(m.support):,}") for m in core.svms_]
    else:
        found = [(c, "–") for c in getattr(core, "certificates_", ())]
    if not found or (len(found) == 1 and core is study.model):
        return None
    lines = [
        Line(_svm_name(study, j, len(found)), (Cell(support, right=True), *_proof(proof)))
        for j, (proof, support) in enumerate(found[:MOST_ROWS])
    ]
    heads = ("Support vectors", "Objective", "Lower bound", "Gap", "Violation")
    return Table((("Machine", False), *((head, True) for head in heads)), tuple(lines))


def _proof(proof: Certificate) -> tuple[Cell, ...]:
    return (
        *(figure(v, f"{v:.8g}".replace("-", "−")) for v in (proof.primal, proof.dual)),
        *(figure(v, f"{v:.1e}".replace("-", "−")) for v in (proof.gap, proof.kkt)),
    )


def _svm_name(study: Study, j: int, count: int) -> str:
    if count == 1:
        return "both classes" if study.task == "classification" else "all rows"
    return f"{study.classes[j]} or not" if count == len(study.classes) else f"{j + 1}"
