"""Which instruction sets round to bf16: imported by tests whose bounds depend on it."""

from __future__ import annotations

# They multiply bf16 numbers, in tiles or vectors: rows of linear layers and many query vectors
# are rounded first.
ROUNDING_SETS = ("amx", "bf16")
