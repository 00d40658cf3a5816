"""Guaranteed intervals and sets of a study: its test rows calibrate the chosen model."""
