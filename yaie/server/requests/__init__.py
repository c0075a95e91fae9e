"""Requests: from checked bodies to calls of the engine."""
