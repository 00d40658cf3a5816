"""Gaussian processes for two classes: Laplace's approximation and its evidence."""
