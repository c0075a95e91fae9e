"""Models: transformers' supported architectures, and their loading."""
