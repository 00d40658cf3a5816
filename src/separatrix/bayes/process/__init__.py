"""Gaussian processes: f ~ N(0, κ), y = f + noise, with hyperparameters learned by evidence."""
