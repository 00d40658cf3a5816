"""Plots of support vector machines."""
