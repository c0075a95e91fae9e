"""The engine: requests, scheduling, steps, sampling."""
