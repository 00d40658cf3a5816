"""The view of a boundary between classes in a plane of two columns."""
