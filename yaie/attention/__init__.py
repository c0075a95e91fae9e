"""Attention: the pure planner and the backends that carry its plan out."""
