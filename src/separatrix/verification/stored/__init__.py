"""Model files read byte by byte: the container, and the records in it."""
