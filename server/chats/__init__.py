"""Parts of chat completions that other endpoints have not: older fields, and the echo."""
