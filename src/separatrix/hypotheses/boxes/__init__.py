"""Boxes as hypotheses: between most specific and most general; fewest errors; rules."""
