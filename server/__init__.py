"""Door for `uvicorn server.api:app`; the server itself is `yaie.server`."""

from yaie.server import fire, run

__all__ = ["fire", "run"]
