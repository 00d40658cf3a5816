"""Gaussian processes: regression and classification, exact or through inducing points."""
