"""`ScheduledBody`: fields of requests that end after their prompts, about their turn and cache."""

from __future__ import annotations

from typing import Annotated

from yaie.server.schemas.base import Extension, RequestBody
from yaie.server.schemas.shared_fields import WholeNumber


class ScheduledBody(RequestBody):
    """Fields of the bodies for embeddings and rankings."""

    cache_salt: Annotated[
        str | None,
        Extension(
            "1 to 256 characters. Only requests with the same key and salt share prefixes.",
            example="a-secret",
        ),
    ] = None
    priority: Annotated[
        WholeNumber | None,
        Extension("Lower runs first, under the policy `priority`.", "0", example=-3),
    ] = None
    request_timeout_s: Annotated[
        float | None,
        Extension("Longest time of this request in seconds, above 0.", "the server's", 30.0),
    ] = None
    queue_timeout_s: Annotated[
        float | None,
        Extension("Longest wait for admission in seconds, above 0.", "the server's", 30.0),
    ] = None
