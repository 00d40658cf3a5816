"""Tables and queries of databases in one file, opened so that they can do nothing but be read."""
