"""Fixtures of the engine's tests, for faults in its steps."""

from tests.engine.conftest import make_core, one_thread

__all__ = ["make_core", "one_thread"]
