"""Request bodies of the API, as clients send them."""
