"""Pictures that take more than a few lines: one module a picture."""
