"""`ChatTemplate`: conversations to prompts, through the model's own chat template.

Used by `LLM.chat` and by the server. `TemplateRenderer` renders the template in another process;
requests cannot bring a template. Roles, contents and tool calls are checked and normalized first;
other fields of a message reach the template unchanged.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from yaie.base.errors import InvalidRequest, UnsupportedParameter
from yaie.text.content_markers import ContentMarkers, MarkedChat, find_markers
from yaie.text.contents import ContentForms, forms_of_roles
from yaie.text.folding import TOOLS_IN_SYSTEM, fold, with_past_calls_as_text, with_tools_in_system
from yaie.text.formats.json_calls import JsonCalls
from yaie.text.formats.named_calls import KIMI
from yaie.text.formats.output_format import OutputFormat, detect_format
from yaie.text.past_calls import (
    CALL_REWRITES,
    with_calls_as_text,
    with_numbered_ids,
    with_written_arguments,
)
from yaie.text.plain_messages import (
    Message,
    check_tools_and_options,
    read_messages,
    text_of_content,
)
from yaie.text.template_features import (
    choose_template,
    template_source,
)
from yaie.text.template_renderer import (
    MAX_CHARS,
    RENDERER,
    PromptTooLong,
    TemplateFault,
    template_parts,
)
from yaie.text.tokenizer import TextKind, Tokenizer, too_long
from yaie.text.turn_rules import TurnRules, find_rules

# Variables that the renderer sets, and arguments of transformers' renderer.
_RESERVED = frozenset(
    (
        "self", "conversation", "conversations", "messages", "tools", "documents",
        "chat_template", "compiled_template", "add_generation_prompt", "continue_final_message",
        "tokenize", "tokenizer_kwargs", "sanitize_control_tokens", "padding", "truncation",
        "max_length", "return_tensors", "return_dict", "return_assistant_tokens_mask",
    )
)  # fmt: skip

_PROBED = ("user", "system", "assistant", "tool")  # roles
# Name and id of the function call in the probe of a template.
_CALLED = "a_call_in_the_past"
_CALL_ID = "call00001"

_VARIABLES = {"tools": None, "documents": None, "add_generation_prompt": False}
# Text after the content of a continued message: the prompt ends before it.
_CONTINUED = "qathisanswergoeson"


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """A conversation's prompt."""

    pieces: tuple[str, ...]  # cut inside markers in the contents, which stay text
    folds: tuple[str, ...]  # names of the changes by which the template takes the messages

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.pieces)


@dataclass(frozen=True, slots=True)
class _Facts:
    """Facts about one template, found by probes."""

    forms: dict[str, ContentForms]  # by role
    rules: TurnRules
    shown_call: str  # a rendered conversation with a call; `_CALLED` itself if the template fails


class ChatTemplate:
    """Renderer of conversations for one tokenizer; any thread may call it."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        tool_call_parser: str = "auto",
        *,
        trust_markers: bool = False,
    ) -> None:
        """Make a renderer; with `trust_markers` markers in contents are control tokens."""
        self._tokenizer = tokenizer
        self._tool_call_parser = tool_call_parser
        self._trusts_markers = trust_markers
        self._markers: dict[str, ContentMarkers] = {}  # by template

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
        """Return a conversation's prompt as token ids. Raises as `make_prompt` and `encode`."""
        prompt = self.make_prompt(
            messages,
            tools,
            add_generation_prompt,
            template_kwargs,
            continue_final_message=continue_final_message,
            max_tokens=max_tokens,
        )
        return self.encode(prompt, max_tokens)

    def encode(
        self, prompt: ChatPrompt, max_tokens: int | None = None, kind: TextKind = "prompt"
    ) -> list[int]:
        """Return a prompt's token ids.

        Raises `ContextLengthExceeded` if a lower bound already exceeds `max_tokens`.
        """
        return self._tokenizer.encode_pieces(prompt.pieces, max_tokens, "messages", kind)

    def reads(self, name: str) -> bool:
        """Return True if the template reads this variable, or shows tools as text."""
        if name == "tools" and isinstance(self.format.syntax, JsonCalls):
            return True
        return name in template_parts(self.source).variables

    @property
    def _reads_tools(self) -> bool:
        return "tools" in template_parts(self.source).variables

    @property
    def format(self) -> OutputFormat:
        """Format of the model's answers."""
        return detect_format(self.source, self._tool_call_parser)

    @property
    def source(self) -> str:
        """Template text, or the text of all named templates."""
        return template_source(self._tokenizer)

    def render_text(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True,
        template_kwargs: Mapping[str, Any] | None = None,
        *,
        continue_final_message: bool = False,
    ) -> str:
        """Return the prompt's text. Raises as `make_prompt`."""
        return self.make_prompt(
            messages,
            tools,
            add_generation_prompt,
            template_kwargs,
            continue_final_message=continue_final_message,
        ).text

    def make_prompt(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True,
        template_kwargs: Mapping[str, Any] | None = None,
        *,
        continue_final_message: bool = False,
        max_tokens: int | None = None,
    ) -> ChatPrompt:
        """Return a conversation's prompt; messages use OpenAI's format.

        With `continue_final_message` the prompt ends with the content of the last message. Ignores
        variables in `template_kwargs` that the template does not read. Raises `InvalidRequest`
        with the field name, `UnsupportedParameter` for images and audio, `TemplateTooCostly`, and
        `ContextLengthExceeded` if the text certainly has more than `max_tokens`.
        """
        if (fault := self._tokenizer.chat_template_fault) is not None:
            raise InvalidRequest(
                f"this model has {fault}; give it a prompt instead of messages "
                "(/v1/completions, LLM.generate, yaie run --raw), or set --chat-template plain",
                param="messages",
            )
        check_tools_and_options(tools, template_kwargs)
        for name in template_kwargs or {}:
            if name in _RESERVED:
                raise UnsupportedParameter(
                    f"chat_template_kwargs.{name} is not a template variable that a request may "
                    f"set",
                    param=f"chat_template_kwargs.{name}",
                )
        plain = read_messages(messages)
        given = {name: each for name, each in (template_kwargs or {}).items() if self.reads(name)}
        template = choose_template(self._tokenizer.hf.chat_template, with_tools=bool(tools))
        markers = self._find_markers(template)
        chat = markers.mark(plain, tools, given)
        conversation, folds = self._fit(chat, template)
        last = conversation[-1]
        if continue_final_message:
            if not last["content"]:
                raise InvalidRequest(
                    "continue_final_message needs a last message with text; add text, or omit the "
                    "field",
                    param="continue_final_message",
                )
            conversation = [*conversation[:-1], _with_mark(last)]
        most = MAX_CHARS if max_tokens is None else self._tokenizer.most_chars(max_tokens)
        try:
            text = _apply(
                template,
                conversation,
                {
                    **dict(self._special_tokens),
                    "tools": chat.tools,
                    "add_generation_prompt": add_generation_prompt and not continue_final_message,
                    **chat.options,
                },
                most or MAX_CHARS,
            )
        except PromptTooLong as failure:
            if max_tokens is None or most is None or most > MAX_CHARS:
                raise
            raise too_long("messages", max_tokens + 1, max_tokens) from failure
        except TemplateFault as failure:
            raise _refusal(failure) from failure
        if continue_final_message:
            text = _cut_at_mark(text, last)
        return ChatPrompt(markers.cut(text, chat.sentinel), folds)

    def check(self) -> None:
        """Render each template that conversations may get; later ones do not wait for it.

        Raises `TemplateTooCostly`.
        """
        if self._tokenizer.has_chat_template:
            for with_tools in (False, True):
                template = choose_template(self._tokenizer.hf.chat_template, with_tools=with_tools)
                self._find_facts(template)
                self._find_markers(template)

    def _fit(self, chat: MarkedChat, template: str) -> tuple[list[Message], tuple[str, ...]]:
        """Return the messages as the template reads them, and the names of the changes."""
        facts, syntax, conversation = self._find_facts(template), self.format.syntax, chat.messages
        added: tuple[str, ...] = ()
        if isinstance(syntax, JsonCalls) and not self._reads_tools:
            if not any(sign in facts.shown_call for sign in (_CALLED, _CALL_ID)):
                conversation = with_past_calls_as_text(conversation, syntax)
            if chat.tools:
                conversation = with_tools_in_system(conversation, chat.tools, syntax)
                added = (TOOLS_IN_SYSTEM,)
        conversation, folds = fold(self._with_calls_shown(conversation, facts), facts.rules)
        for message in conversation:
            content = message["content"]
            form = facts.forms.get(message["role"], ContentForms())
            parts = None if isinstance(content, str) else content
            message["content"] = form.fit(text_of_content(content), parts)
        return conversation, (*added, *folds)

    def _with_calls_shown(self, conversation: list[Message], facts: _Facts) -> list[Message]:
        if any(message.get("tool_calls") for message in conversation):
            if f"{{'{_CALLED}'" in facts.shown_call:  # an object that was printed
                return [with_written_arguments(message) for message in conversation]
            syntax = detect_format(self.source).syntax
            if syntax is KIMI:
                return with_numbered_ids(conversation)
            # The templates of LFM2 and Granite 3.3 show tool results without the calls.
            is_hidden = self._reads_tools and _CALLED not in facts.shown_call
            if is_hidden and isinstance(syntax, JsonCalls):
                return [with_calls_as_text(message, syntax) for message in conversation]
        return conversation

    def _find_facts(self, template: str) -> _Facts:
        return _probe(template, self._special_tokens)

    @property
    def _special_tokens(self) -> tuple[tuple[str, str], ...]:
        return tuple(self._tokenizer.hf.special_tokens_map.items())

    def _find_markers(self, template: str) -> ContentMarkers:
        if template not in self._markers:
            self._markers[template] = self._make_markers(template)
        return self._markers[template]

    def _make_markers(self, template: str) -> ContentMarkers:
        if self._trusts_markers:
            return ContentMarkers((), (), None)
        tokenizer, literals = self._tokenizer, template_parts(template).literals
        markers = find_markers(tokenizer.marker_ids, tokenizer.special_ids, template)
        thinking = detect_format(template).thinking
        splits = thinking is not None and thinking.closer in literals
        return ContentMarkers(markers, literals, thinking if splits else None)


@lru_cache(maxsize=16)
def _probe(template: str, special_tokens: tuple[tuple[str, str], ...]) -> _Facts:
    """Return the facts about a template. Raises `TemplateTooCostly`."""

    def render(conversation: list[Message]) -> str:
        try:
            return _apply(template, conversation, dict(special_tokens))
        except TemplateFault:
            return ""

    forms = forms_of_roles(render, _PROBED)
    function = {"name": _CALLED, "arguments": {_CALLED: ""}}
    calls = [{"id": _CALL_ID, "type": "function", "function": function}]
    said = {"role": "assistant", "content": "", "tool_calls": calls}
    shown_call = render([{"role": "user", "content": "x"}, said]) or _CALLED
    return _Facts(forms, find_rules(render, forms), shown_call)


def _apply(
    template: str,
    conversation: list[Message],
    variables: Mapping[str, Any],
    max_chars: int = MAX_CHARS,
) -> str:
    """Apply a template; if it fails on past calls, rewrite them first."""

    def render(messages: list[Message]) -> str:
        return RENDERER.render(
            template, {**_VARIABLES, **variables, "messages": messages}, max_chars
        )

    try:
        return render(conversation)
    except TemplateFault:
        for rewrite in CALL_REWRITES:
            rewritten = [rewrite(message) for message in conversation]
            if rewritten != conversation:
                with contextlib.suppress(TemplateFault):
                    return render(rewritten)
        raise


def _refusal(fault: TemplateFault) -> InvalidRequest:
    """Return the refusal of messages whose template failed."""
    shown = fault.message or fault.error
    return InvalidRequest(
        {
            "syntax": f"the model's chat template is broken: {shown}; send a prompt instead, or "
            "repair the template",
            "refused": f"the model's chat template refuses these messages: {shown}",
            "failed": f"the model's chat template cannot render these messages ({fault.error}); "
            "check their fields",
        }[fault.kind],
        param="messages",
    )


def _with_mark(message: Message) -> Message:
    """Return a message with a mark after its text."""
    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": content + _CONTINUED}
    return {
        **message,
        "content": [*content[:-1], {**content[-1], "text": content[-1]["text"] + _CONTINUED}],
    }


def _cut_at_mark(text: str, message: Message) -> str:
    """Return a prompt up to its mark. Raises `InvalidRequest` if the content is not before it."""
    content = message["content"]
    shown = content if isinstance(content, str) else content[-1]["text"]
    prompt, mark, _ = text.rpartition(_CONTINUED)
    if not mark or shown.strip() not in prompt:
        raise InvalidRequest(
            "continue_final_message is not supported: the model's chat template changes "
            "the last message; send it at the start of a prompt to /v1/completions",
            param="continue_final_message",
        )
    return prompt
