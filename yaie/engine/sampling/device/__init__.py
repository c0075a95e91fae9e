"""Sampling on the device: a step's tokens from its logits without a wait in between."""
