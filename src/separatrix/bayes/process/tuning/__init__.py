"""Gaussian processes on the folds of a comparison."""
