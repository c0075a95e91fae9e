"""Device: its queue, copies between host and device, and captured graphs."""
