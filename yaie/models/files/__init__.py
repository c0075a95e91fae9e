"""Model files: checkpoints, GGUF, downloads and the index of models."""
