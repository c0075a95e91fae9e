"""Simulation of the scheduler and the radix tree under load, with a modelled step time."""
