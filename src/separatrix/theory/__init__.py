"""Learning theory: hypothesis classes, VC dimension, PAC bounds, bias and variance."""
