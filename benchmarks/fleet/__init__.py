"""Fleets of replicas behind a router: simulated, and on this machine."""
