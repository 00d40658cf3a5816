"""Boolean functions: those consistent with examples, by truth table and by shortest formula."""
