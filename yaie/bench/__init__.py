"""Benchmarks of `yaie bench`. Each returns a report that prints as a table or as JSON."""
