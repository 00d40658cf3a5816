"""Servers that this computer alone can ask: predictions of a stored model, and what guards them."""
