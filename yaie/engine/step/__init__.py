"""One step: its batch, its incremental update, and the deltas that it yields."""
