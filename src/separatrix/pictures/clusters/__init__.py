"""Pictures of clusters."""
