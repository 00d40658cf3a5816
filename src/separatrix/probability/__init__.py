"""From scores to probabilities and decisions: calibration, costs, rejection, several classes."""
