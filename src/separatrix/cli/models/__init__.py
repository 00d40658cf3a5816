"""Commands on stored models: export, verify."""
