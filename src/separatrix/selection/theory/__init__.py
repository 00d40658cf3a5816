"""Learning theory that needs no model of its own: sample sizes, bias and variance."""
