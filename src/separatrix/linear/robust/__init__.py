"""Huber and least absolute deviation regression."""
