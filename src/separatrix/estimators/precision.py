"""Single precision in, single precision out, as in scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np


def number_type(x: Any) -> Any:
    """Single precision for arrays, sparse matrices and frames of it, else double."""
    types = getattr(x, "dtypes", None)
    types = [getattr(x, "dtype", None)] if types is None else list(types)
    single = bool(types) and all(isinstance(t, np.dtype) and t == np.float32 for t in types)
    return np.float32 if single else np.float64
