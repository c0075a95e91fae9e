"""Instruction sets that round to bf16, for tests with bounds that depend on it."""

from __future__ import annotations

# Both multiply bf16 numbers, in tiles or vectors, after rounding the rows of linear layers and the
# query vectors of many rows.
ROUNDING_SETS = ("amx", "bf16")
