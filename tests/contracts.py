"""A contract for import-linter: compiled loops import nothing of ours but other loops.

The exceptions are the decorator that compiles them, and the names of array types."""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck
from importlinter.application import output


class LoopsContract(Contract):
    """Modules named ``loops``, or within such a package, import only each other."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        faults = [
            (module, imported)
            for module in sorted(graph.modules)
            if "loops" in module.split(".")
            for imported in sorted(graph.find_modules_directly_imported_by(module))
            if imported.startswith("separatrix") and "loops" not in imported.split(".")
            if imported not in ("separatrix.compilation", "separatrix.arrays")
        ]
        return ContractCheck(kept=not faults, metadata={"faults": faults})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for module, imported in check.metadata["faults"]:
            output.print_error(f"{module} imports {imported}", bold=False)
