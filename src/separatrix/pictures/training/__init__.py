"""Plots of model selection and training."""
