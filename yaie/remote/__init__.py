"""A remote server through its OpenAI API: addresses, sending, replies, and `Client`."""
