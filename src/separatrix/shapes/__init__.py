"""Fitted geometry: what was learned, apart from how."""
