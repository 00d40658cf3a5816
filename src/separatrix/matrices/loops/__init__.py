"""Compiled loops over sparse rows and columns."""
