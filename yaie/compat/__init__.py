"""Constructors and adapters under the names of other engines."""
