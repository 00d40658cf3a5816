"""``separatrix compile``: all numerical loops at once."""
