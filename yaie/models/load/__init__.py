"""Loading: from a model name and settings to a model in memory."""
