"""`ToolUse`: the tools of a chat request, and the parser and the grammar of its answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from yaie.base.errors import InvalidRequest, UnsupportedParameter
from yaie.base.types import Grammar
from yaie.server.schemas.chat import ChatBody
from yaie.text.formats.output_format import OutputFormat, Use
from yaie.text.formats.tool import Tool
from yaie.text.output_parts import OutputParser
from yaie.text.tokenizer import Tokenizer

_NAME = re.compile(r"[A-Za-z0-9_.\-]{1,64}")
_FORMS = (
    "tool_choice must be 'none', 'auto', 'required', an object of type 'function' with the name "
    "of one of the tools, or an object of type 'allowed_tools'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """Checked `tools`, `tool_choice` and `parallel_tool_calls` of one request."""

    shown: list[dict[str, Any]] | None = None  # to the model, by its template
    tools: tuple[Tool, ...] = ()  # that the model may call
    use: Use = "free"
    max_calls: int | None = None


def check_tools(body: ChatBody) -> ToolUse:
    """Return the tool use that a body asks for. Raises `InvalidRequest`."""
    functions = _functions(body.tools or [])
    kind, names = _read_choice(body.tool_choice, functions, bool(body.tools))
    if not body.tools:
        return ToolUse()
    if kind == "none":
        return ToolUse(use="none")
    shown = [tool for tool in body.tools if tool["function"]["name"] in names]
    is_single = kind == "named" or body.parallel_tool_calls is False
    return ToolUse(
        shown=shown,
        tools=tuple(Tool.of(tool) for tool in shown),
        use="forced" if kind in ("required", "named") else "free",
        max_calls=1 if is_single else None,
    )


def answer_format(
    tool_use: ToolUse,
    form: OutputFormat,
    tokenizer: Tokenizer,
    prompt: Sequence[int],
    answer: Grammar | None = None,
) -> tuple[Callable[[], OutputParser], Grammar | None]:
    """Return the parser of a chat's answers, and their grammar.

    `answer` is that of an answer without calls. Raises `UnsupportedParameter` if the model has no
    form of calls to force.
    """
    if tool_use.use == "forced" and form.syntax is None:
        raise UnsupportedParameter(
            "tool_choice requires a call, but this model's chat template shows no tool-call "
            "format; use 'auto' or 'none', or set --tool-call-parser",
            param="tool_choice",
        )
    thinking = form.thinking_in(tokenizer, prompt)
    tools = tool_use.tools
    grammar = form.grammar(
        tools,
        tokenizer,
        use=tool_use.use,
        thinking=thinking,
        is_parallel=tool_use.max_calls is None,
        answer=answer,
    )
    return form.parser(tools, thinking=thinking, max_calls=tool_use.max_calls), grammar


def _functions(tools: list[Any]) -> set[str]:
    """Return the names of the functions, each checked."""
    names: set[str] = set()
    for at, tool in enumerate(tools):
        where = f"tools[{at}]"
        if isinstance(tool, dict) and tool.get("type") != "function":
            raise InvalidRequest(f"{where}.type must be 'function'", param=f"{where}.type")
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict):
            raise InvalidRequest(
                f"{where} must be an object with a function that has a name", param=where
            )
        name = _name(function.get("name"), f"{where}.function.name")
        if name in names:
            raise InvalidRequest(
                f"{where}.function.name is {name!r}, which an earlier tool has; rename one",
                param=f"{where}.function.name",
            )
        names.add(name)
        _check_parameters(function, f"{where}.function")
    return names


def _name(name: object, where: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidRequest(
            f"{where} must be 1 to 64 letters, digits, '_', '-' or '.'", param=where
        )
    return name


def _check_parameters(function: Mapping[str, Any], where: str) -> None:
    parameters = function.get("parameters")
    if parameters is not None and not isinstance(parameters, dict):
        raise InvalidRequest(
            f"{where}.parameters must be a JSON schema, an object", param=f"{where}.parameters"
        )
    if parameters and parameters.get("type", "object") != "object":
        raise InvalidRequest(
            f"{where}.parameters.type must be 'object', since the arguments are one",
            param=f"{where}.parameters.type",
        )
    for name, kind in (("description", str), ("strict", bool)):
        if not isinstance(function.get(name), kind | None):
            raise InvalidRequest(
                f"{where}.{name} must be a {'string' if kind is str else 'boolean'}",
                param=f"{where}.{name}",
            )


def _read_choice(choice: object, functions: set[str], has_tools: bool) -> tuple[str, set[str]]:
    """Return the kind of a choice (none, auto, required, named), and the tools it allows."""
    if choice is None or choice in ("none", "auto"):
        return str(choice or "auto"), functions
    if choice == "required":
        _check_has_tools(has_tools)
        return "required", functions
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind == "function" and isinstance(choice, dict):
        _check_has_tools(has_tools)
        return "named", {_reference(choice, functions, "tool_choice")}
    if kind == "allowed_tools" and isinstance(choice, dict):
        _check_has_tools(has_tools)
        return _read_allowed(choice.get("allowed_tools", choice), functions)
    if kind == "custom":
        raise UnsupportedParameter(
            "tool_choice of type 'custom' is not supported; use 'function'", param="tool_choice"
        )
    raise InvalidRequest(_FORMS, param="tool_choice")


def _check_has_tools(has_tools: bool) -> None:
    if not has_tools:
        raise InvalidRequest(
            "tool_choice requires a call, but tools is empty; send tools, or omit tool_choice",
            param="tool_choice",
        )


def _read_allowed(given: object, functions: set[str]) -> tuple[str, set[str]]:
    where = "tool_choice.allowed_tools"
    mode = given.get("mode", "auto") if isinstance(given, dict) else None
    listed = given.get("tools") if isinstance(given, dict) else None
    if mode not in ("auto", "required") or not isinstance(listed, list) or not listed:
        raise InvalidRequest(
            f"{where} must have a mode, 'auto' or 'required', and a list of tools", param=where
        )
    references = enumerate(listed)
    return mode, {_reference(each, functions, f"{where}.tools[{at}]") for at, each in references}


def _reference(given: object, functions: set[str], where: str) -> str:
    """Return the name of a function that a choice refers to."""
    inner = given.get("function", given) if isinstance(given, dict) else None
    name = inner.get("name") if isinstance(inner, dict) else None
    if not isinstance(name, str) or name not in functions:
        shown = f"{name[:64]!r} is not one of the tools" if isinstance(name, str) else "has no name"
        raise InvalidRequest(
            f"{where}.function.name must be the name of one of the tools: {shown}", param=where
        )
    return name
