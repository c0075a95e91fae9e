"""Endpoints, one module for each group."""
