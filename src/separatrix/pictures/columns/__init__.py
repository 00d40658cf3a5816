"""Columns: their importance, partial dependence, histograms and correlations."""
