"""`ChatTemplate`: conversations to prompts, through the model's own chat template.

Used by `LLM.chat` and by the server. transformers renders the template in a sandbox; requests
cannot bring a template. Roles, contents and tool calls are checked and normalized first; other
fields of a message reach the template unchanged.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import TemplateError, TemplateSyntaxError

from yaie.base.errors import InvalidRequest, UnsupportedParameter
from yaie.text.contents import ContentForms, content_text, content_texts, forms_of_roles
from yaie.text.formats.json_calls import JsonCalls
from yaie.text.formats.named_calls import KIMI
from yaie.text.formats.output_format import detect_format
from yaie.text.past_calls import (
    CALL_REWRITES,
    read_arguments,
    with_calls_as_text,
    with_numbered_ids,
    with_written_arguments,
)
from yaie.text.template_features import free_variables
from yaie.text.tokenizer import Tokenizer

MAX_MESSAGES = 10_000
MAX_TOOLS = 512
MAX_RENDERED_CHARS = 32 * 1024 * 1024
ROLES = ("system", "developer", "user", "assistant", "tool", "function")

# Arguments of transformers' renderer; as template variables they would change its behaviour.
_RESERVED = frozenset(
    (
        "self", "conversation", "conversations", "messages", "tools", "documents",
        "chat_template", "compiled_template", "add_generation_prompt", "continue_final_message",
        "tokenize", "tokenizer_kwargs", "sanitize_control_tokens", "padding", "truncation",
        "max_length", "return_tensors", "return_dict", "return_assistant_tokens_mask",
    )
)  # fmt: skip

_PROBED = ("user", "system", "assistant", "tool")  # roles
_KEEP_PARTS = ("user", "system")  # parts of other roles are joined where text is shown
_CALLED = "a_call_in_the_past"  # name of the function in the probe of a template

# A template is a program and fails on unknown shapes of messages.
_TEMPLATE_FAULTS = (
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
_FAULTS = (TemplateError, *_TEMPLATE_FAULTS)


class ChatTemplate:
    """Renderer of conversations for one tokenizer; any thread may call it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._probed_calls: dict[str, str] = {}  # by template
        self._forms: dict[str, dict[str, ContentForms]] = {}  # by template

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True,
        template_kwargs: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        *,
        continue_final_message: bool = False,
    ) -> list[int]:
        """Return a conversation's prompt as token ids; messages use OpenAI's format.

        With `continue_final_message` the prompt ends with the content of the last message. Raises
        `InvalidRequest` with the field name, `UnsupportedParameter` for images and audio, and
        `ContextLengthExceeded` if a lower bound already exceeds `max_tokens`.
        """
        text = self.render_text(
            messages,
            tools,
            add_generation_prompt,
            template_kwargs,
            continue_final_message=continue_final_message,
        )
        return self._tokenizer.encode(
            text, add_special_tokens=False, max_tokens=max_tokens, name="messages"
        )

    def reads(self, name: str) -> bool:
        """Return True if the template reads this variable."""
        return name in free_variables(self.source)

    @property
    def source(self) -> str:
        """Template text, or the text of all named templates."""
        template = self._tokenizer.hf.chat_template or ""
        if isinstance(template, dict):
            return "\n".join(map(str, template.values()))
        return str(template)

    def render_text(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True,
        template_kwargs: Mapping[str, Any] | None = None,
        *,
        continue_final_message: bool = False,
    ) -> str:
        """Return the prompt's text. Raises as `render` does.

        Ignores variables in `template_kwargs` that the template does not read.
        """
        if (fault := self._tokenizer.chat_template_fault) is not None:
            raise InvalidRequest(
                f"this model has {fault}; give it a prompt instead of messages "
                "(/v1/completions, LLM.generate, yaie run --raw), or set --chat-template plain",
                param="messages",
            )
        _check_shapes(tools, template_kwargs)
        _check_sizes(messages, tools)
        for name in template_kwargs or {}:
            if name in _RESERVED:
                raise UnsupportedParameter(
                    f"chat_template_kwargs.{name} is not a template variable that a request may "
                    f"set",
                    param=f"chat_template_kwargs.{name}",
                )
        conversation = self._conversation(messages)
        if continue_final_message and not conversation[-1]["content"]:
            raise InvalidRequest(
                "continue_final_message needs a last message with text; add text, or omit the "
                "field",
                param="continue_final_message",
            )
        given = template_kwargs or {}
        try:
            text = self._apply(
                conversation,
                tools=[dict(tool) for tool in tools] if tools else None,
                add_generation_prompt=add_generation_prompt,
                continue_final_message=continue_final_message,
                tokenize=False,
                **{name: value for name, value in given.items() if self.reads(name)},
            )
        except TemplateSyntaxError as error:
            raise InvalidRequest(
                f"the model's chat template is broken: {_short(error)}; "
                "send a prompt instead, or repair the template",
                param="messages",
            ) from error
        except TemplateError as error:
            raise InvalidRequest(
                f"the model's chat template refuses these messages: {_short(error)}",
                param="messages",
            ) from error
        except _TEMPLATE_FAULTS as error:
            if continue_final_message and isinstance(error, ValueError):
                raise InvalidRequest(
                    "continue_final_message is not supported: the model's chat template changes "
                    "the last message; send it at the start of a prompt to /v1/completions",
                    param="continue_final_message",
                ) from error
            raise InvalidRequest(
                "the model's chat template cannot render these messages "
                f"({type(error).__name__}); check their fields",
                param="messages",
            ) from error
        if continue_final_message:
            text = _with_last_blanks(text, conversation[-1]["content"])
        if len(text) > MAX_RENDERED_CHARS:
            raise InvalidRequest(
                f"the rendered conversation has {len(text)} characters; "
                f"at most {MAX_RENDERED_CHARS} are read",
                param="messages",
            )
        return text

    def _conversation(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the messages as the template reads them. Raises `InvalidRequest`."""
        conversation = [_plain_message(message, at) for at, message in enumerate(messages)]
        conversation = self._with_calls_shown(self._with_reasoning_named(conversation))
        forms = self._forms_of_roles()
        for at, (given, message) in enumerate(zip(messages, conversation, strict=True)):
            form = forms.get(message["role"], ContentForms())
            listed = None
            if message["role"] in _KEEP_PARTS and not isinstance(given.get("content"), str | None):
                listed = content_texts(given["content"], f"messages[{at}].content")
            message["content"] = form.fit(message["content"], listed)
        return conversation

    def _with_reasoning_named(self, conversation: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if "thinking" in self.source:  # the name of some templates
            for message in conversation:
                if "reasoning_content" in message:
                    message.setdefault("thinking", message["reasoning_content"])
        return conversation

    def _with_calls_shown(self, conversation: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if any(message.get("tool_calls") for message in conversation):
            if f"{{'{_CALLED}'" in self._probe_call():  # an object that was printed
                return [with_written_arguments(message) for message in conversation]
            if detect_format(self.source).syntax is KIMI:
                return with_numbered_ids(conversation)
            syntax = self._syntax_of_hidden_calls()
            if syntax is not None:
                return [with_calls_as_text(message, syntax) for message in conversation]
        return conversation

    def _forms_of_roles(self) -> dict[str, ContentForms]:
        """Return the content formats that the template shows, by role."""
        source = self.source
        if source not in self._forms:
            self._forms[source] = forms_of_roles(self._rendered, _PROBED)
        return self._forms[source]

    def _rendered(self, conversation: list[dict[str, Any]]) -> str:
        """Return a prompt, or an empty one if the template fails."""
        try:
            return self._apply(conversation, tokenize=False)
        except _FAULTS:
            return ""

    def _apply(self, conversation: list[dict[str, Any]], **options: Any) -> str:
        """Apply the template; if it fails on past calls, rewrite them first."""
        apply = self._tokenizer.hf.apply_chat_template
        try:
            return str(apply(conversation, **options))
        except _FAULTS:
            for rewrite in CALL_REWRITES:
                rewritten = [rewrite(message) for message in conversation]
                if rewritten != conversation:
                    with contextlib.suppress(*_FAULTS):
                        return str(apply(rewritten, **options))
            raise

    def _syntax_of_hidden_calls(self) -> JsonCalls | None:
        """Return the syntax in which calls must be text; None if the template shows calls.

        The templates of LFM2 and Granite 3.3 show tool results without the calls.
        """
        syntax = detect_format(self.source).syntax if self.reads("tools") else None
        if not isinstance(syntax, JsonCalls) or _CALLED in self._probe_call():
            return None
        return syntax

    def _probe_call(self) -> str:
        """Return a rendered conversation with a call; `_CALLED` itself if the template fails."""
        source = self.source
        if source not in self._probed_calls:
            function = {"name": _CALLED, "arguments": {_CALLED: ""}}
            calls = [{"id": "call00001", "type": "function", "function": function}]
            said = {"role": "assistant", "content": "", "tool_calls": calls}
            probe: list[dict[str, Any]] = [{"role": "user", "content": "x"}, said]
            self._probed_calls[source] = self._rendered(probe) or _CALLED
        return self._probed_calls[source]


def _with_last_blanks(text: str, content: object) -> str:
    """Return a prompt that ends with the blanks of a content, which some templates trim."""
    blanks = content[len(content.rstrip()) :] if isinstance(content, str) else ""
    return text if text.endswith(blanks) else text + blanks


def _check_sizes(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None
) -> None:
    if not messages:
        raise InvalidRequest("messages is empty; send at least one message", param="messages")
    if len(messages) > MAX_MESSAGES:
        raise InvalidRequest(
            f"messages has {len(messages)} entries; at most {MAX_MESSAGES} are read",
            param="messages",
        )
    if tools and len(tools) > MAX_TOOLS:
        raise InvalidRequest(
            f"tools has {len(tools)} entries; at most {MAX_TOOLS} are read", param="tools"
        )


def _check_shapes(tools: object, template_kwargs: object) -> None:
    """Raise for wrong types here: the errors of a template would name neither argument."""
    if template_kwargs is not None and not isinstance(template_kwargs, Mapping):
        raise InvalidRequest("chat_template_kwargs must be an object", param="chat_template_kwargs")
    if tools is not None and (isinstance(tools, str) or not isinstance(tools, Sequence)):
        raise InvalidRequest("tools must be a list of objects", param="tools")
    for at, tool in enumerate(tools or ()):
        if not isinstance(tool, Mapping):
            raise InvalidRequest(f"tools[{at}] must be an object", param=f"tools[{at}]")


def _plain_message(message: Mapping[str, Any], at: int) -> dict[str, Any]:
    """Return a message as templates expect it: content as a string, arguments as an object."""
    where = f"messages[{at}]"
    if not isinstance(message, Mapping):
        raise InvalidRequest(f"{where} must be an object", param=where)
    role = message.get("role")
    if role not in ROLES:
        raise InvalidRequest(
            f"{where}.role must be one of {', '.join(ROLES)}", param=f"{where}.role"
        )
    plain = {key: value for key, value in message.items() if value is not None}
    if role == "developer":  # OpenAI's newer name for the system message
        plain["role"] = "system"
    content = message.get("content")
    if content is None:
        if role != "assistant":
            raise InvalidRequest(f"{where}.content is missing", param=f"{where}.content")
        plain["content"] = ""
    else:
        plain["content"] = content_text(content, f"{where}.content")
    reasoning = _reasoning(message, where)
    if reasoning is not None:
        plain["reasoning_content"] = reasoning
    if message.get("tool_calls") is not None:
        plain["tool_calls"] = _plain_tool_calls(message["tool_calls"], f"{where}.tool_calls")
    return plain


def _reasoning(message: Mapping[str, Any], where: str) -> str | None:
    """Return the reasoning of a past answer; clients name it `reasoning_content` or `reasoning`."""
    for name in ("reasoning_content", "reasoning"):
        reasoning = message.get(name)
        if reasoning is not None and not isinstance(reasoning, str):
            raise InvalidRequest(f"{where}.{name} must be a string", param=f"{where}.{name}")
        if reasoning is not None:
            return reasoning
    return None


def _plain_tool_calls(calls: object, where: str) -> list[dict[str, Any]]:
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        raise InvalidRequest(f"{where} must be a list", param=where)
    plain = []
    for at, call in enumerate(calls):
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise InvalidRequest(
                f"{where}[{at}].function must be an object with a name",
                param=f"{where}[{at}].function",
            )
        arguments = read_arguments(function.get("arguments", {}))
        plain.append({**call, "function": {**function, "arguments": arguments}})
    return plain


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
