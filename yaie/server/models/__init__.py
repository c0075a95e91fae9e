"""Served models: the service, its model pool, caches and prefill between turns."""
