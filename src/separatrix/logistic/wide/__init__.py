"""Logistic regression on wide and sparse rows: products with the design, no square matrix."""
