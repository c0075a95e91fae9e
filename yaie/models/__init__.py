"""Models: the supported architectures of transformers, and their loading."""
