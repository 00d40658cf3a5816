"""Averages of several models."""
