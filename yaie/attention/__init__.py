"""Attention: the pure planner of a step, and the backends that compute its plan."""
