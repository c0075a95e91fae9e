"""Attention: the step planner, and the backends that compute a step plan."""
