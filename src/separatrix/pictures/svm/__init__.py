"""Pictures of support vector machines."""
