"""Hypothesis classes: sets of points of one shape, what they shatter, and their VC dimension."""
