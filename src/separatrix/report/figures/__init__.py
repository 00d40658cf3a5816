"""The pictures of each part of the page, and the reasons of those that are missing."""

from separatrix.report.figures.classes import classification, probabilities
from separatrix.report.figures.coefficients import coefficients
from separatrix.report.figures.columns import columns, dependence, importance
from separatrix.report.figures.gallery import Gallery
from separatrix.report.figures.guaranteed import guaranteed
from separatrix.report.figures.regression import regression
from separatrix.report.figures.selection import comparison, learning, test_scores
from separatrix.report.figures.stored_rows import stored_rows
from separatrix.report.figures.uncertainty import uncertainty

__all__ = [
    "Gallery",
    "classification",
    "coefficients",
    "columns",
    "comparison",
    "dependence",
    "guaranteed",
    "importance",
    "learning",
    "probabilities",
    "regression",
    "stored_rows",
    "test_scores",
    "uncertainty",
]
