"""Batches of requests: files in OpenAI's batch format, their order, and a journal of results."""
