"""Perceptrons: primal, dual with kernels, and for regression."""
