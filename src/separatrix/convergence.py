"""The warning of a solver that was stopped early.

A module of its own, imported when it is first needed: scikit-learn takes a second to import, and
messages are needed where no model is.
"""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

from separatrix.messages import SeparatrixWarning


class NotConvergedWarning(SeparatrixWarning, ConvergenceWarning):
    """SEP003, and SEP004 of ``KMeans``, which scikit-learn names a ``ConvergenceWarning``."""
