"""Our processes: their start, the garbage collector's pause, and the limits of their cgroups."""
