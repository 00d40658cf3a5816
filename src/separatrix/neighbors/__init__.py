"""Nearest neighbors, kernel smoothers and nearest exemplars."""
