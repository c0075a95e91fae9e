"""Translation of Anthropic's messages: a chat completion with other names.

Runs in the text threads, as `Translator` does.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from yaie.base.errors import InvalidRequest
from yaie.server.anthropic.blocks import chat_messages
from yaie.server.anthropic.message_reply import blocks_of
from yaie.server.anthropic.message_tools import read_tool_choice, read_tools
from yaie.server.requests.call import Call
from yaie.server.requests.checks import (
    MAX_NAMED_IGNORED,
    check_common,
    check_unused,
    list_reported,
    rename_field,
)
from yaie.server.requests.comparison import read_response_id
from yaie.server.requests.offered_tools import OfferedTools
from yaie.server.requests.token_counts import Tokens
from yaie.server.requests.translator import Translator
from yaie.server.schemas.chat import ChatBody, FieldNames
from yaie.server.schemas.messages import CountedMessagesBody, MessagesBody
from yaie.server.schemas.tokens import InputTokenCount
from yaie.text.output_parts import Part

_THINKS = {"enabled": True, "adaptive": True, "disabled": False}
# A chat completion's names of fields, and the names that this API has for them.
_NAMES = {
    "stop": "stop_sequences",
    "response_format": "output_config.format",
    "reasoning_effort": "output_config.effort",
    "chat_template_kwargs.enable_thinking": "thinking",
    "thinking_token_budget": "thinking.budget_tokens",
    "parallel_tool_calls": "tool_choice.disable_parallel_tool_use",
}
_FIELDS = FieldNames(
    function="",
    parameters="input_schema",
    response_format="output_config.format",
    json_schema="output_config.format",
)
_OF_TOOL = re.compile(r"tools\[([0-9]+)\]")
_SAMPLING = ("temperature", "top_p", "top_k", "min_p", "seed", "cache_salt", "priority")


def messages_call(translator: Translator, body: MessagesBody) -> Call:
    """Translate a request for a message. Raises `InvalidRequest` or a subclass."""
    if body.max_tokens < 0:
        raise InvalidRequest(
            f"max_tokens must be at least 0, got {body.max_tokens}", param="max_tokens"
        )
    fields, tools, ignored = _chat_fields(translator, body)
    fields["stream"] = body.stream
    fields["max_tokens"] = max(body.max_tokens, 1)
    fields["thinking_token_budget"] = _budget(body.thinking or {})
    fields["stop"] = body.stop_sequences or None
    fields.update({name: getattr(body, name) for name in _SAMPLING})
    try:
        call = translator.chat(ChatBody(**fields).with_names(_FIELDS))
    except InvalidRequest as error:
        raise translate_error(error, tools.places) from None
    call = replace(
        call,
        ignored=_list_ignored(translator, (*call.ignored, *ignored), body),
        is_compared=body.diagnostics is not None,
        compared_with=read_response_id(body.diagnostics, "diagnostics", "previous_message_id"),
    )
    call = _set_id(call, body)
    return call if body.max_tokens else _prefill_only(call)


def chat_of(translator: Translator, body: CountedMessagesBody) -> ChatBody:
    """Return the chat completion with the same prompt. Raises `InvalidRequest`."""
    return ChatBody(**_chat_fields(translator, body)[0]).with_names(_FIELDS)


def count_messages_tokens(translator: Translator, body: CountedMessagesBody) -> Tokens:
    """Return the number of tokens that a request for a message would have as its input."""
    fields, tools, ignored = _chat_fields(translator, body)
    chat = ChatBody(**fields).with_names(_FIELDS)
    try:
        check_common(chat)
        prompt = translator.chat_prompt(chat)
    except InvalidRequest as error:
        raise translate_error(error, tools.places) from None
    names = (*translator.list_ignored(chat), *ignored)
    return Tokens(InputTokenCount(input_tokens=len(prompt)), _list_ignored(translator, names, body))


def _chat_fields(
    translator: Translator, body: CountedMessagesBody
) -> tuple[dict[str, Any], OfferedTools, list[str]]:
    """Return the fields of a chat completion that its prompt depends on.

    Also the tools, and the names of tools and blocks without effect.
    """
    check_unused(body)
    # Templates have one of two names for it.
    is_thinking = not translator.reads("enable_thinking") and translator.reads("thinking")
    thinking = _thinking(body.thinking, "thinking" if is_thinking else "enable_thinking")
    tools = read_tools(body.tools)
    choice, parallel = read_tool_choice(body.tool_choice, tools)
    omitted: list[str] = []
    messages = chat_messages(body.system, body.messages, omitted)
    fields: dict[str, Any] = {
        "model": body.model,
        "messages": messages,
        "continue_final_message": _is_prefill(messages),
        "tools": tools.functions or None,
        "tool_choice": choice,
        "chat_template_kwargs": (body.chat_template_kwargs or {}) | thinking,
    }
    if parallel is not None:
        fields["parallel_tool_calls"] = parallel
    output = _output_fields(body.output_config or {}, body.output_format)
    if not translator.reads("reasoning_effort"):
        output.pop("reasoning_effort", None)
    return fields | output, tools, [*tools.ignored, *omitted]


def _is_prefill(messages: list[dict[str, Any]]) -> bool:
    """Return whether the answer continues the last message. Raises `InvalidRequest`."""
    last = messages[-1] if messages else {}
    if last.get("role") != "assistant":
        return False
    if "tool_calls" in last or not last["content"]:
        raise InvalidRequest(
            "messages ends with an assistant turn without text to continue, or with tool use; end "
            "with a user turn",
            param="messages",
        )
    return True


def _thinking(given: dict[str, Any] | None, variable: str) -> dict[str, Any]:
    """Return the template's variable for `thinking`, under its name."""
    if given is None:
        return {}
    kind = given.get("type")
    if not isinstance(kind, str) or kind not in _THINKS:
        raise InvalidRequest(
            "thinking.type must be 'enabled', 'adaptive' or 'disabled'", param="thinking.type"
        )
    return {variable: _THINKS[kind]}


def _budget(thinking: dict[str, Any]) -> int | None:
    """Return the limit on the tokens of the reasoning."""
    budget = thinking.get("budget_tokens")
    if budget is None or thinking.get("type") != "enabled":
        return None
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 0:
        raise InvalidRequest(
            "thinking.budget_tokens must be a whole number of at least 0",
            param="thinking.budget_tokens",
        )
    return budget


def _output_fields(given: dict[str, Any], older_format: object) -> dict[str, Any]:
    """Return the fields for `output_config`, and for `output_format` without a newer one."""
    fields: dict[str, Any] = {}
    if (effort := given.get("effort")) is not None:
        if not isinstance(effort, str) or len(effort) > 32:
            raise InvalidRequest(
                "output_config.effort must be a short string", param="output_config.effort"
            )
        fields["reasoning_effort"] = effort
    where = "output_format" if given.get("format") is None else "output_config.format"
    form = older_format if where == "output_format" else given["format"]
    if form is not None:
        schema = form.get("schema") if isinstance(form, dict) else None
        if not (isinstance(form, dict) and isinstance(schema, dict)) or (
            form.get("type") != "json_schema"
        ):
            raise InvalidRequest(
                f"{where} must be an object of type 'json_schema' with a schema", param=where
            )
        wanted = {"name": "answer", "schema": schema, "strict": True}
        fields["response_format"] = {"type": "json_schema", "json_schema": wanted}
    return fields


def translate_error(error: InvalidRequest, tools: Sequence[str] = ()) -> InvalidRequest:
    """Return the error with this API's name of the field; `tools`: the place of each."""
    given = error.param
    found = _OF_TOOL.match(given or "")
    if found is not None and int(found[1]) < len(tools):
        assert given is not None
        return rename_field(error, tools[int(found[1])] + given[found.end() :])
    if given is None:
        return error
    if given == "continue_final_message":
        return InvalidRequest(
            "messages ends with an assistant turn, and the model's chat template cannot continue "
            "it; end with a user turn",
            param="messages",
        )
    return rename_field(error, _NAMES.get(given, given))


def _list_ignored(
    translator: Translator, of_chat: tuple[str, ...], body: CountedMessagesBody
) -> tuple[str, ...]:
    """Return the names of fields without effect; null counts as omitted."""
    names = [_NAMES.get(name, name) for name in of_chat] + list_reported(body)
    names = list(dict.fromkeys(names))
    effort = (body.output_config or {}).get("effort")
    if effort is not None and not translator.reads("reasoning_effort"):
        names.append("output_config.effort")
    return tuple(names[:MAX_NAMED_IGNORED])


def _set_id(call: Call, body: MessagesBody) -> Call:
    """Return the call with an id of this API."""
    response_id = f"msg_{uuid.uuid4().hex}"
    (request,) = call.requests
    grammar = request.grammar
    if grammar is not None and grammar.param.startswith("output_config"):
        grammar = replace(grammar, param="output_config.format")
    request = replace(request, request_id=response_id, grammar=grammar)
    turn = call.next_turn
    return replace(
        call,
        response_id=response_id,
        requests=(request,),
        body=body,
        call_id_prefix="toolu_",
        next_turn=turn and replace(turn, sent_back=partial(_send_back, body), names_results=True),
    )


def _send_back(body: MessagesBody, parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return an answer as the messages that its content blocks become in the next turn."""
    content = msgspec.to_builtins([each.whole() for each in blocks_of(parts, body.thinking)])
    return chat_messages(None, [{"role": "assistant", "content": content}]) if content else []


def _prefill_only(call: Call) -> Call:
    """Return the call that computes its prompt into the cache, and shows no token."""
    (request,) = call.requests
    sampling = replace(request.sampling, stop=(), stop_regex=(), stop_token_ids=(), ignore_eos=True)
    requests = (replace(request, sampling=sampling),)
    return replace(call, requests=requests, sampling=sampling, prompt_only=True)
