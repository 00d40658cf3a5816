"""Options of ``separatrix fit`` on how models are validated, and what is printed about it."""
