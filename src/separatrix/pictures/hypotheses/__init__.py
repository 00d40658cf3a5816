"""Plots of hypotheses: boxes from most specific to most general, and labels that queries save."""
