"""Converters, one module for each family."""
