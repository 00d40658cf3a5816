"""The view of a line: one or two columns against a target of numbers."""
