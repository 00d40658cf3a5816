"""Candidates compared on the same rows out of fold, and the choice among them."""
