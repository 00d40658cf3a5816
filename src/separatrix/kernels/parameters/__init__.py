"""Hyperparameters of kernels: names, bounds, starting values."""
