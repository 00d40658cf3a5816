"""Checks of a table before models are fitted: copies, leakage, dependent rows, rare classes."""
