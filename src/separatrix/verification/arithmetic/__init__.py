"""Exact sums of doubles, exact linear systems, enclosures of roots, exponentials, logarithms."""
