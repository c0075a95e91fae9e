"""YAIE: an LLM inference engine in which the radix tree is the engine."""
