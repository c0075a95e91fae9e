"""Waiting requests: scheduling policies, tenant shares, queue limits and preemption."""
