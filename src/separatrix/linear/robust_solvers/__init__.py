"""Solvers of Huber and least absolute deviation regression."""
