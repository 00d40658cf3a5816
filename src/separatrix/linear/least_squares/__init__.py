"""Solvers of least squares and ridge problems."""
