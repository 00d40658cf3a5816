"""Compiled loops on arrays and scalars."""
