"""Loading: turns a model name and settings into a model in memory."""
