"""Programs as Python modules without dependencies."""
