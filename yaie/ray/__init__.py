"""Ray Serve: one application over replicas of the engine. Needs the extra `yaie[ray]`.

`yaie serve --ray` runs YAIE's own server in front of the replicas, `serve run yaie.ray:app` an
ingress deployment behind Ray's proxy. `serve build yaie.ray:built` writes the application of the
environment. Nothing here imports ray before it is used.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "app":
        from yaie.ray.application import app

        return app
    if name == "built":
        from yaie.ray.application import app

        return app({})
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
