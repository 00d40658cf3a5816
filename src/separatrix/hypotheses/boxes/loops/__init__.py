"""Compiled loops over boxes."""
