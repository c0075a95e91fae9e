"""Device sampling: chooses a step's tokens from its logits without a wait in between."""
