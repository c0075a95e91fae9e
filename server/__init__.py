"""The HTTP skin: `uvicorn server.api:app`."""
