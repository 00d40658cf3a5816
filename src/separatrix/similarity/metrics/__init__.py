"""Distances: between rows of numbers, strings, mixed rows, and any objects."""
