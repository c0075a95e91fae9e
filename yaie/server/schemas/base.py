"""Bases of request bodies and of the replies that the OpenAPI document shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict

from yaie.server.schemas.field import Unused, Used

MAX_TENANT_CHARS = 256


def tenant_name(user: object) -> str:
    """Return the tenant for a user as a client names it; empty without a name."""
    return user[:MAX_TENANT_CHARS] if isinstance(user, str) else ""


class RequestBody(BaseModel):
    """Fields that every endpoint reads itself."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)

    unused: ClassVar[Mapping[str, Unused]] = {}  # known fields of the endpoint besides these

    model: Annotated[
        str | None,
        Used(
            "404 for a name that is not served. An empty name counts as none.",
            "the one served",
            example="builtin",
        ),
    ] = None

    @property
    def tenant(self) -> str:
        """Tenant of the request by its `user` field; empty without one."""
        return tenant_name(getattr(self, "user", None))


class Documented(BaseModel):
    """Answer whose attribute docstrings are the descriptions of its fields."""

    model_config = ConfigDict(use_attribute_docstrings=True, protected_namespaces=())
