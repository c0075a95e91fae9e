"""LoRA adapters: their files, their weights, and the layers that they change."""
