"""Pictures of posteriors and predictive distributions."""
