"""What summaries of linear and logistic models share: refusals, dataframes, p values."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, NoReturn

from separatrix.messages import InputError


def no_summary(reason: str) -> NoReturn:
    """Refuse inference where its theory does not hold, and say why."""
    raise InputError(f"No summary: {reason}")


def as_frame(columns: dict[str, Any], backend: Any) -> Any:
    """Columns as a dataframe; without a backend, pandas if installed, else PyArrow."""
    import narwhals as nw

    if backend is None:
        backend = "pandas" if find_spec("pandas") is not None else "pyarrow"
    return nw.from_dict(columns, backend=backend).to_native()


def p_text(p: float) -> str:
    """A p value as a table shows it."""
    return "< 1e-4" if p < 1e-4 else f"{p:.4f}"
