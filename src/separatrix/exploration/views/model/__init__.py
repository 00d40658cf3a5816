"""The view of a stored model: its study, one prediction taken apart, and what-if."""
