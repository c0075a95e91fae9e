"""Doors to the engine: in this process or in a supervised child."""
