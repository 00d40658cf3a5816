"""Bayesian linear and logistic models, and Gaussian processes: every answer is a distribution."""
