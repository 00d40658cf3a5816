"""Pictures of conformal prediction: coverage by category, sizes of sets."""
