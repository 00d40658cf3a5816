"""Commands whose table is read by the workers of a cluster."""
