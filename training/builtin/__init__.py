"""The built-in demonstration model: the generator of its training text, its training, its tests."""
