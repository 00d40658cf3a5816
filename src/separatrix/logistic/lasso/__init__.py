"""Logistic regression with an ℓ₁ part on wide and sparse tables: working sets of columns."""
