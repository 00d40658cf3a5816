"""Mergeable statistics of rows, and what is estimated from them."""
