"""A fitted model in another language: SQL, Python, JSON; checked against the model at once."""
