"""Body and replies of `/v1/tools` and `/v1/tools/execute`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from yaie.server.schemas.reply_struct import ReplyStruct


class ExecuteBody(BaseModel):
    """A call of a registered tool, as the `function` of a tool call gives it."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    name: str
    arguments: dict[str, Any] | str = {}
    """An object, or its JSON as text."""


class ToolFunction(ReplyStruct, kw_only=True):
    """Function as a chat request describes it."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON schema."""


class RegisteredTool(ReplyStruct, kw_only=True):
    """A tool that the operator registered."""

    type: Literal["function"] = "function"
    function: ToolFunction
    enabled: bool


class ToolList(ReplyStruct, kw_only=True):
    """Tools of the server."""

    object: Literal["list"] = "list"
    data: list[RegisteredTool]
    parsers: dict[str, str | None]
    """Tool-call format by model; null without one, or while the model loads."""
    execution: bool
    """`/v1/tools/execute` is on."""


class ToolReply(ReplyStruct, kw_only=True):
    """Result of a tool."""

    object: Literal["tool.result"] = "tool.result"
    name: str
    content: str
    """Text for a message of the role `tool`."""
    is_error: bool
