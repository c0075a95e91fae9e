"""Translation of Ollama's requests: chat and text completions with other names.

Runs in the text threads, as `Translator` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from yaie.base.errors import InvalidRequest
from yaie.base.types import SAMPLING_FIELDS
from yaie.server.http.body import as_body
from yaie.server.ollama.ollama_models import read_keep_alive
from yaie.server.ollama.ollama_turns import call_id, chat_turns, count_calls, is_prefill
from yaie.server.requests.call import Call
from yaie.server.requests.checks import (
    EFFORTS,
    MAX_NAMED_IGNORED,
    check_unused,
    list_reported,
    plain,
    rename_field,
)
from yaie.server.requests.translator import Translator
from yaie.server.schemas.chat import ChatBody, FieldNames
from yaie.server.schemas.embeddings import EmbeddingBody
from yaie.server.schemas.ollama_bodies import (
    OllamaBody,
    OllamaChatBody,
    OllamaEmbedBody,
    OllamaGenerateBody,
    RawPromptBody,
)
from yaie.server.schemas.shared_fields import GenerationBody
from yaie.text.next_turn import Message, answer_message
from yaie.text.output_parts import Part

# Options by their names in a chat completion: all that sets its sampling.
_OPTIONS = {
    **{name: name for name in SAMPLING_FIELDS if name in GenerationBody.model_fields},
    "max_tokens": "num_predict",
    "repetition_penalty": "repeat_penalty",
}
for _name in ("n", "prompt_logprobs"):
    del _OPTIONS[_name]
# A chat completion's names of fields, and the names that this API has for them.
_NAMES = {
    **{ours: f"options.{name}" for ours, name in _OPTIONS.items()},
    "response_format": "format",
    "reasoning_effort": "think",
    "logprobs": "top_logprobs",
}
_FIELDS = FieldNames(response_format="format", json_schema="format")
_RANDOM_SEED = -1


def ollama_chat_call(translator: Translator, body: OllamaChatBody) -> Call:
    """Translate a chat. Raises `InvalidRequest` or a subclass."""
    check_unused(body)
    turns = chat_turns(body.messages or [])
    return _chat_call(translator, body, turns, tools=body.tools or None)


def ollama_generate_call(translator: Translator, body: OllamaGenerateBody) -> Call:
    """Translate a prompt: a chat with one message, or a text with `raw`.

    A model without a chat template continues the text too. Raises as `ollama_chat_call`.
    """
    check_unused(body)
    if body.raw and body.system:
        raise InvalidRequest(
            "system has no place in a raw prompt; write it into the prompt, or omit raw",
            param="system",
        )
    if not body.raw and translator.has_chat_template:
        turns = [{"role": "system", "content": body.system}] if body.system else []
        return _chat_call(
            translator, body, [*turns, {"role": "user", "content": body.prompt or ""}]
        )
    fields = _common_fields(body)
    if body.logprobs:
        fields["logprobs"] = body.top_logprobs or 0
    fields["prompt"] = body.prompt or ""
    call = _translated(lambda: translator.completion(as_body(fields, RawPromptBody)))
    unread = ["system"] if body.system else []
    if body.think:
        unread.append("think")
    return _with_body(call, body, unread)


def _chat_call(
    translator: Translator, body: OllamaBody, turns: list[Message], **fields: Any
) -> Call:
    thinking, unread = _thinking(translator, body.think)
    chat = {
        "messages": turns,
        "continue_final_message": is_prefill(turns),
        "logprobs": body.logprobs,
        "top_logprobs": body.top_logprobs,
        **_common_fields(body),
        **thinking,
        **fields,
    }
    call = _translated(lambda: translator.chat(as_body(chat, ChatBody).with_names(_FIELDS)))
    call = _with_body(call, body, unread)
    sent_back = partial(_send_back, count_calls(turns))
    turn = call.next_turn and replace(call.next_turn, sent_back=sent_back, names_results=True)
    return replace(call, next_turn=turn)


def _common_fields(body: OllamaBody) -> dict[str, Any]:
    """Return the fields that chat and text completions share."""
    options = body.options or {}
    fields = {ours: options.get(name) for ours, name in _OPTIONS.items()}
    limit = fields["max_tokens"]
    if isinstance(limit, int | float) and limit <= 0:
        fields["max_tokens"] = None
    if fields["seed"] == _RANDOM_SEED:
        fields["seed"] = None
    fields["stop"] = fields["stop"] or None
    response_format = _response_format(body.format)
    return {
        "model": body.model,
        "stream": body.is_streamed,
        "response_format": response_format,
        **fields,
    }


def _response_format(given: object) -> dict[str, Any] | None:
    if given is None or given == "":
        return None
    if given == "json":
        return {"type": "json_object"}
    if not isinstance(given, dict):
        raise InvalidRequest("format must be 'json' or a JSON schema: an object", param="format")
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": given}}


def check_values(body: OllamaBody) -> None:
    """Raise `InvalidRequest` if `format` or `think` has a value that no request may have."""
    _response_format(body.format)
    _check_think(body.think)


def _check_think(given: object) -> None:
    if given is None or given == "" or isinstance(given, bool) or given in EFFORTS:
        return
    raise InvalidRequest(f"think must be a boolean or one of {', '.join(EFFORTS)}", param="think")


def _thinking(translator: Translator, given: object) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a chat completion for `think`, and its name if it has no effect."""
    _check_think(given)
    if given is None or given == "":
        return {}, []
    if isinstance(given, str) and translator.reads("reasoning_effort"):
        return {"reasoning_effort": given}, []
    is_on = given if isinstance(given, bool) else given != "none"
    # Templates have one of two names for it.
    for variable in ("enable_thinking", "thinking"):
        if translator.reads(variable):
            return {"chat_template_kwargs": {variable: is_on}}, []
    return {}, ["think"] if is_on else []


def _translated(translate: Callable[[], Call]) -> Call:
    """Return the call; errors name the fields of this API."""
    try:
        return translate()
    except InvalidRequest as error:
        raise _translate_error(error) from None


def _translate_error(error: InvalidRequest) -> InvalidRequest:
    if error.param == "continue_final_message":
        return InvalidRequest(
            "messages ends with an assistant turn, and the model's chat template cannot continue "
            "it; end with a user turn",
            param="messages",
        )
    param = error.param or ""
    name = "format" if param.startswith("response_format") else _NAMES.get(param)
    return error if name is None else rename_field(error, name)


def _with_body(call: Call, body: OllamaBody, unread: Sequence[str]) -> Call:
    """Return the call with the names of this API."""
    names = [_NAMES.get(name, name) for name in call.ignored] + list_reported(body) + [*unread]
    if read_keep_alive(body.keep_alive) is not None:
        names.append("keep_alive")
    read = set(_OPTIONS.values())
    others = {name for name, value in (body.options or {}).items() if value is not None} - read
    names += sorted(f"options.{plain(name)}" for name in others)
    (request,) = call.requests
    grammar = request.grammar
    if grammar is not None and grammar.param.startswith(("format", "response_format")):
        request = replace(request, grammar=replace(grammar, param="format"))
    return replace(call, body=body, requests=(request,), ignored=tuple(names[:MAX_NAMED_IGNORED]))


def _send_back(num_before: int, parts: Sequence[Part]) -> list[Message]:
    """Return an answer as the client sends it back; see `ollama_turns` on the ids."""
    message = answer_message(parts)
    for at, call in enumerate(message.get("tool_calls", ())):
        call["id"] = call_id(num_before + at)
    return [message]


def ollama_embed_call(translator: Translator, body: OllamaEmbedBody) -> Call:
    """Translate a request for vectors. Raises as `ollama_chat_call`."""
    fields = {
        "input": body.input,
        "truncate": body.truncate is not False,
        "dimensions": body.dimensions,
    }
    return translator.embedding(as_body({**(body.model_extra or {}), **fields}, EmbeddingBody))
