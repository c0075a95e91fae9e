"""`/v1/messages`: content blocks, translation and replies."""
