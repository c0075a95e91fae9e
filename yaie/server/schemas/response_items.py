"""Items of `/v1/responses`, as its replies show them."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from yaie.server.schemas.generation_replies import TokenLogprob
from yaie.server.schemas.reply_struct import ReplyStruct

ItemStatus = Literal["in_progress", "completed", "incomplete"]


class OutputText(ReplyStruct, kw_only=True, tag_field="type", tag="output_text"):
    """Text of a message."""

    text: str
    annotations: list[Any]
    logprobs: list[TokenLogprob] | UnsetType = UNSET


class Refusal(ReplyStruct, kw_only=True, tag_field="type", tag="refusal"):
    """Refusal that the client sent as part of an earlier message."""

    refusal: str


class InputText(ReplyStruct, kw_only=True, tag_field="type", tag="input_text"):
    """Text from the client."""

    text: str


class ReasoningText(ReplyStruct, kw_only=True, tag_field="type", tag="reasoning_text"):
    """Text of a thought."""

    text: str


class SummaryText(ReplyStruct, kw_only=True, tag_field="type", tag="summary_text"):
    """Summary of a thought."""

    text: str


class MessageItem(ReplyStruct, kw_only=True, tag_field="type", tag="message"):
    """Message of either side."""

    id: str
    status: ItemStatus
    role: Literal["user", "assistant", "system", "developer"]
    content: list[OutputText | Refusal | InputText]


class ReasoningItem(ReplyStruct, kw_only=True, tag_field="type", tag="reasoning"):
    """Thought of the model before an answer or a call."""

    id: str
    status: ItemStatus
    summary: list[SummaryText]
    content: list[ReasoningText]


class FunctionCallItem(ReplyStruct, kw_only=True, tag_field="type", tag="function_call"):
    """Call of a tool."""

    id: str
    status: ItemStatus
    call_id: str
    """Id for the result of the call."""
    name: str
    namespace: str | UnsetType = UNSET
    """Namespace of the tool."""
    arguments: str
    """JSON, as the model wrote it."""


class CustomToolCallItem(ReplyStruct, kw_only=True, tag_field="type", tag="custom_tool_call"):
    """Call of a tool that takes text."""

    id: str
    status: ItemStatus
    call_id: str
    name: str
    namespace: str | UnsetType = UNSET
    input: str


class LocalShellCallItem(ReplyStruct, kw_only=True, tag_field="type", tag="local_shell_call"):
    """Command for the client to run."""

    id: str
    status: ItemStatus
    call_id: str
    action: dict[str, Any]
    """`type` exec, `command`, `env`, `timeout_ms`, `user`, `working_directory`."""


class ShellCallItem(ReplyStruct, kw_only=True, tag_field="type", tag="shell_call"):
    """Shell commands for the client to run."""

    id: str
    status: ItemStatus
    call_id: str
    action: dict[str, Any]
    """`commands`, `timeout_ms`, `max_output_length`."""


class ApplyPatchCallItem(ReplyStruct, kw_only=True, tag_field="type", tag="apply_patch_call"):
    """Change of a file for the client to make."""

    id: str
    status: Literal["in_progress", "completed"]
    call_id: str
    operation: dict[str, Any]
    """`type` (`create_file`, `update_file`, `delete_file`), `path`, `diff`."""


class ToolSearchCallItem(ReplyStruct, kw_only=True, tag_field="type", tag="tool_search_call"):
    """Search for more tools by the client."""

    id: str
    status: ItemStatus
    call_id: str
    execution: Literal["client"]
    arguments: dict[str, Any]


class FunctionCallOutputItem(
    ReplyStruct, kw_only=True, tag_field="type", tag="function_call_output"
):
    """Result of a tool."""

    id: str
    status: ItemStatus
    call_id: str
    output: str | list[InputText]


class CustomToolCallOutputItem(
    ReplyStruct, kw_only=True, tag_field="type", tag="custom_tool_call_output"
):
    """Result of a tool that takes text."""

    id: str
    status: ItemStatus
    call_id: str
    output: str | list[InputText]


class LocalShellCallOutputItem(
    ReplyStruct, kw_only=True, tag_field="type", tag="local_shell_call_output"
):
    """Output of a command."""

    id: str
    status: ItemStatus
    call_id: str
    output: str | list[InputText]


class ApplyPatchCallOutputItem(
    ReplyStruct, kw_only=True, tag_field="type", tag="apply_patch_call_output"
):
    """Outcome of a change of a file."""

    id: str
    status: Literal["completed", "failed"]
    call_id: str
    output: str | list[InputText]


class ShellCallOutputItem(ReplyStruct, kw_only=True, tag_field="type", tag="shell_call_output"):
    """Output of shell commands."""

    id: str
    status: ItemStatus
    call_id: str
    output: list[dict[str, Any]]
    """`stdout`, `stderr` and `outcome` of each command."""


class ToolSearchOutputItem(ReplyStruct, kw_only=True, tag_field="type", tag="tool_search_output"):
    """Tools that the client found."""

    id: str
    status: ItemStatus
    call_id: str
    execution: Literal["client"]
    tools: list[Any]


class AdditionalToolsItem(ReplyStruct, kw_only=True, tag_field="type", tag="additional_tools"):
    """Tools that the client added in the middle of the conversation."""

    id: str
    role: Literal["developer"]
    tools: list[Any]


OutputItem = (
    MessageItem
    | ReasoningItem
    | FunctionCallItem
    | CustomToolCallItem
    | LocalShellCallItem
    | ShellCallItem
    | ApplyPatchCallItem
    | ToolSearchCallItem
)
InputItem = (
    OutputItem
    | FunctionCallOutputItem
    | CustomToolCallOutputItem
    | LocalShellCallOutputItem
    | ApplyPatchCallOutputItem
    | ShellCallOutputItem
    | ToolSearchOutputItem
    | AdditionalToolsItem
)
