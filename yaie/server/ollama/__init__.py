"""Ollama's API: conversations, options, replies and descriptions of models."""
