"""Weights held as integers: what they are, read from checkpoints or made at load."""
