"""Plots of regressions."""
