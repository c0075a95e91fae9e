"""HTTP: connections, middleware, bodies, errors and the OpenAPI document."""
