"""Kernel machines: ridge and logistic regression on a Gram matrix."""
