"""How alike two rows are."""
