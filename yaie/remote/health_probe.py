"""Health probe for containers: `python -m yaie.remote.health_probe`.

It asks /health of the server that the variables and the settings file describe, by its scheme and
port. The exit code is 0 for 200, else 1 with the reason on stderr. Flags of `yaie serve` are
unknown to it.
"""

from __future__ import annotations

import contextlib
import http.client
import ssl
import sys

from yaie.base.settings import Settings, load_settings

PROBE_S = 4.0
_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def probe_health(settings: Settings) -> str | None:
    """Return why the server on this machine accepts no requests; None if it does."""
    host = _EVERY_ADDRESS.get(settings.host, settings.host)
    with contextlib.closing(_connect(host, settings)) as connection:
        try:
            connection.request("GET", f"{settings.root_path}/health")
            reply = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            return f"no answer from {host}:{settings.port}: {error}"
        if reply.status == http.client.OK:
            return None
        return f"/health answers {reply.status}: {reply.read(1000).decode(errors='replace')}"


def _connect(host: str, settings: Settings) -> http.client.HTTPConnection:
    if settings.ssl_certfile is None:
        return http.client.HTTPConnection(host, settings.port, timeout=PROBE_S)
    context = ssl.create_default_context()
    context.check_hostname = False  # the certificate has the public name of the server
    context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(host, settings.port, timeout=PROBE_S, context=context)


if __name__ == "__main__":
    sys.exit(probe_health(load_settings()))
