"""The view of descent: the surface of a loss in two coefficients, and a perceptron's updates."""
