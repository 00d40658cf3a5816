"""Bayesian linear regression: ridge by evidence, a precision for each column, a given prior."""
