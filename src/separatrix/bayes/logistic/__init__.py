"""Bayesian logistic regression: Laplace approximation, evidence, and posterior sampling."""
