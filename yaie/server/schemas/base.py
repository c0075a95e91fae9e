"""Bases of request bodies, and their fields as data."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic_core import CoreSchema

MAX_TENANT_CHARS = 256


class State(enum.StrEnum):
    """Treatment of a field."""

    USED = "used"
    REFUSED = "refused"  # 400, unless the value means "unused"
    OTHER_NAME = "other name"  # another name for our field: 400, unless ours is given too
    ACCEPTED = "accepted"  # without effect: the answer would be the same
    REPORTED = "reported"  # accepted, and named in X-YAIE-Ignored-Params


class Origin(enum.StrEnum):
    """API that defined a field."""

    OPENAI = "OpenAI"
    EXTENSION = "extension"


@dataclass(frozen=True, slots=True)
class Used:
    """Annotation of a used field, in its body's class."""

    meaning: str  # one sentence or two, in Markdown
    default: str = "none"
    example: Any = None
    origin: Origin = Origin.OPENAI
    schema: Mapping[str, Any] = field(default_factory=dict)  # where the Python type says less

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the field's JSON schema, with meaning and example."""
        described = {**handler(core_schema), **self.schema}
        if self.meaning:
            described["description"] = self.meaning.replace("`", "")
        if self.example is not None:
            described["examples"] = [self.example]
        return described


@dataclass(frozen=True, slots=True)
class Extension(Used):
    """Annotation of a used field beyond OpenAI's API."""

    origin: Origin = Origin.EXTENSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Unused:
    """Known field that no body class has: refused, accepted without effect, or reported."""

    name: str
    state: State
    meaning: str
    harmless: tuple[Any, ...] = ()  # values that mean "unused"
    ours: str = ""  # our field of the same meaning
    advice: str = ""  # at the end of the error: the way to the same end here


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
            "404 for a name that is not served. An empty name means the default.",
            "the one served",
            example="builtin",
        ),
    ] = None

    @property
    def tenant(self) -> str:
        """Tenant of the request by its `user` field; empty without one."""
        return tenant_name(getattr(self, "user", None))
