"""Displays of learning theory: shattered points, PAC learning, bias and variance."""
