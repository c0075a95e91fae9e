"""Coding agents as shipped, each through a task on a real server: `make test-agents`."""
