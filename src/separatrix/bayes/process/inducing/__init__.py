"""Gaussian processes on many rows: inducing points, their sums, and bounds on the evidence."""
