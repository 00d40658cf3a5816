"""Splits, scores, rules for choosing along a path."""
