"""`ToolUse`: checks a chat's tools, and makes the parser and grammar of its answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from yaie.base.errors import InvalidRequest, UnsupportedParameter
from yaie.base.types import Grammar
from yaie.engine.grammar.schema_keywords import check_compiles
from yaie.engine.grammar.tool_schemas import relax_tools
from yaie.server.requests.checks import plain
from yaie.server.schemas.chat import ChatBody, FieldNames
from yaie.text.formats.output_format import OutputFormat, Use
from yaie.text.formats.tool import Tool
from yaie.text.output_parts import OutputParser
from yaie.text.plain_messages import MAX_TOOLS
from yaie.text.tokenizer import Tokenizer

_NAME = re.compile(r"[A-Za-z0-9_.:/\-]{1,256}")
_FORMS = (
    "must be 'none', 'auto', 'required', an object of type 'function' or 'custom' with the name of "
    "one of the tools, or an object of type 'allowed_tools'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """Checked `tools`, `tool_choice` and `parallel_tool_calls` of one request."""

    shown: list[dict[str, Any]] | None = None  # to the model, by its template
    tools: tuple[Tool, ...] = ()  # that the model may call
    places: tuple[str, ...] = ()  # of their schemas, in the client's names
    use: Use = "free"
    max_calls: int | None = None
    choice_field: str = "tool_choice"  # the client's name


def check_tools(body: ChatBody) -> ToolUse:
    """Return the tool use that a body asks for. Raises `InvalidRequest`."""
    functions = _functions(body.tools or [], body.names)
    kind, allowed = _read_choice(body.tool_choice, functions, body.names)
    if not body.tools:
        return ToolUse()
    if kind == "none":
        return ToolUse(use="none")
    places = [at for at, tool in enumerate(body.tools) if tool["function"]["name"] in allowed]
    shown = [body.tools[at] for at in places]
    is_single = kind == "named" or body.parallel_tool_calls is False
    return ToolUse(
        shown=shown,
        tools=tuple(Tool.of(tool) for tool in shown),
        places=tuple(
            f"{body.names.tools}[{at}]{body.names.inner(at)}.{body.names.parameters}"
            for at in places
        ),
        use="forced" if kind in ("required", "named") else "free",
        max_calls=1 if is_single else None,
        choice_field=body.names.tool_choice,
    )


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """Parser and grammar of the answers to a chat."""

    make_parser: Callable[[], OutputParser]
    grammar: Grammar | None
    # Keywords that the grammar omits from the tools' schemas, as `tools.NAME.KEYWORD`.
    ignored: tuple[str, ...]


def answer_format(
    tool_use: ToolUse,
    form: OutputFormat,
    tokenizer: Tokenizer,
    prompt: Sequence[int],
    answer: Grammar | None = None,
) -> AnswerFormat:
    """Return the format of a chat's answers.

    `answer` is the grammar of an answer without calls. Raises `UnsupportedParameter` if the model
    has no form of calls to force, and `InvalidRequest` for a schema that no grammar can hold where
    it must: of a strict tool, or of the answer.
    """
    if tool_use.use == "forced" and form.syntax is None:
        raise UnsupportedParameter(
            f"{tool_use.choice_field} requires a call, but this model's chat template shows no "
            "tool-call format; use 'auto' or 'none', or set --tool-call-parser",
            param=tool_use.choice_field,
        )
    thinking = form.thinking_in(tokenizer, prompt)
    tools = tool_use.tools
    held: Sequence[Tool] = tools
    lost: list[str] = []
    if form.syntax is not None and form.writes_calls(tools, tokenizer, tool_use.use, answer):
        held, lost = relax_tools(tools, form.syntax, tool_use.places)
    grammar = form.grammar(
        held,
        tokenizer,
        use=tool_use.use,
        thinking=thinking,
        is_parallel=tool_use.max_calls is None,
        answer=answer,
    )
    if answer is not None and grammar is not answer:
        check_compiles(answer)  # the engine would name a place in the grammar of all
    return AnswerFormat(
        form.parser(tools, thinking=thinking, max_calls=tool_use.max_calls),
        grammar,
        tuple(f"tools.{plain(each)}" for each in lost),
    )


def _functions(tools: list[Any], fields: FieldNames) -> set[str]:
    """Return the names of the functions, each checked."""
    if len(tools) > MAX_TOOLS:
        raise InvalidRequest(
            f"{fields.tools} has {len(tools)} entries; at most {MAX_TOOLS} are read",
            param=fields.tools,
        )
    names: set[str] = set()
    for at, tool in enumerate(tools):
        where = f"{fields.tools}[{at}]"
        if isinstance(tool, dict) and tool.get("type") != "function":
            raise InvalidRequest(
                f"{where}.type must be 'function' or 'custom'", param=f"{where}.type"
            )
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict):
            raise InvalidRequest(
                f"{where} must be an object with a function that has a name", param=where
            )
        where += fields.inner(at)
        name = _name(function.get("name"), f"{where}.name")
        if name in names:
            raise InvalidRequest(
                f"{where}.name is {name!r}, which an earlier tool has; rename one",
                param=f"{where}.name",
            )
        names.add(name)
        _check_parameters(function.get("parameters"), f"{where}.{fields.parameters}")
        for name, kind in (("description", str), ("strict", bool)):
            if not isinstance(function.get(name), kind | None):
                raise InvalidRequest(
                    f"{where}.{name} must be a {'string' if kind is str else 'boolean'}",
                    param=f"{where}.{name}",
                )
    return names


def _name(name: object, where: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidRequest(
            f"{where} must be 1 to 256 letters, digits, '_', '-', '.', ':' or '/'", param=where
        )
    return name


def _check_parameters(parameters: Any, where: str) -> None:
    if parameters is not None and not isinstance(parameters, dict):
        raise InvalidRequest(f"{where} must be a JSON schema, an object", param=where)
    if parameters and parameters.get("type", "object") != "object":
        raise InvalidRequest(
            f"{where}.type must be 'object', since the arguments are one", param=f"{where}.type"
        )


def _read_choice(choice: object, functions: set[str], fields: FieldNames) -> tuple[str, set[str]]:
    """Return the kind of a choice (none, auto, required, named), and the tools it allows."""
    where = fields.tool_choice
    if choice is None or choice in ("none", "auto"):
        return str(choice or "auto"), functions
    kind = choice.get("type") if isinstance(choice, dict) else None
    if choice != "required" and kind not in ("function", "custom", "allowed_tools"):
        raise InvalidRequest(f"{where} {_FORMS}", param=where)
    if not functions:
        raise InvalidRequest(
            f"{where} requires a call, but {fields.tools} is empty; send {fields.tools}, or omit "
            f"{where}",
            param=where,
        )
    if not isinstance(choice, dict):
        return "required", functions
    if kind != "allowed_tools":
        return "named", {_reference(choice, functions, where, fields)}
    return _read_allowed(choice.get("allowed_tools", choice), functions, fields)


def _read_allowed(given: object, functions: set[str], fields: FieldNames) -> tuple[str, set[str]]:
    where = fields.allowed_tools
    mode = given.get("mode", "auto") if isinstance(given, dict) else None
    listed = given.get("tools") if isinstance(given, dict) else None
    if mode not in ("auto", "required") or not isinstance(listed, list) or not listed:
        raise InvalidRequest(
            f"{where} must have a mode, 'auto' or 'required', and a list of tools", param=where
        )
    return mode, {
        _reference(each, functions, f"{where}.tools[{at}]", fields)
        for at, each in enumerate(listed)
    }


def _reference(given: object, functions: set[str], where: str, fields: FieldNames) -> str:
    """Return the name of a tool that a choice refers to."""
    is_custom = isinstance(given, dict) and given.get("type") == "custom"
    own = ".custom" if is_custom else fields.function
    inner = given.get(own[1:] or "function", given) if isinstance(given, dict) else None
    name = inner.get("name") if isinstance(inner, dict) else None
    if not isinstance(name, str) or name not in functions:
        known = f"one of the {fields.tools}"
        shown = f"{name[:64]!r} is not {known}" if isinstance(name, str) else "has no name"
        raise InvalidRequest(f"{where}{own}.name must be the name of {known}: {shown}", param=where)
    return name
