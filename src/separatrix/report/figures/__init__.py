"""Which pictures a study gets, and why one is missing."""

from separatrix.report.figures.classes import classification, probabilities
from separatrix.report.figures.coefficients import coefficients
from separatrix.report.figures.gallery import Gallery
from separatrix.report.figures.regression import regression
from separatrix.report.figures.selection import comparison, learning, measured
from separatrix.report.figures.stored_rows import rows_kept

__all__ = [
    "Gallery",
    "classification",
    "coefficients",
    "comparison",
    "learning",
    "measured",
    "probabilities",
    "regression",
    "rows_kept",
]
