"""Conformal prediction: intervals and sets with a guaranteed coverage, over any estimator."""
