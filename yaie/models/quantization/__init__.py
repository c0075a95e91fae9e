"""Quantized weights: their types, their checkpoints, and quantization at load."""
