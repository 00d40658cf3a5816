"""Pictures of model selection and of training."""
