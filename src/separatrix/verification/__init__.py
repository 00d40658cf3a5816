"""Certificates recomputed from a table in exact arithmetic, without NumPy or any solver of ours."""
