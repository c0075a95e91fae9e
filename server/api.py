"""Door for `uvicorn server.api:app`; the application is `yaie.server.api`."""

from yaie.server.api import app

__all__ = ["app"]
