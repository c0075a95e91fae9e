"""Metrics: Prometheus collectors, timings and server status."""
