"""Processes: their start, log formats and resource limits."""
