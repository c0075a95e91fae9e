"""Metrics: Prometheus collectors, timings, server status and the request log."""
