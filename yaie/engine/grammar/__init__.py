"""Grammars: compilation, queues and the matcher of one answer."""
