"""The device under the engine: its queue, copies between host and device, and captured graphs."""
