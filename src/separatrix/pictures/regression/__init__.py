"""Pictures of regressions."""
