"""Compiled loops of Bayesian logistic regression."""
