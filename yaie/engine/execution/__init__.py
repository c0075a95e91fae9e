"""Execution: model executors, captured decode steps and pool memory."""
