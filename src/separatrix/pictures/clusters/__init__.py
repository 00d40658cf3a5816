"""Plots of clusters."""
