"""HTTP server over the engine: `uvicorn server.api:app`."""
