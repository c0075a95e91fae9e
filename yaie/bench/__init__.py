"""Benchmarks. Each measures in this process and returns what `yaie bench` prints as JSON."""
