"""Additive models: sums of smooth functions of the columns, and of pairs of them."""
