"""`OutputFormat`: how one model writes calls and reasoning, by what its chat template shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from yaie.base.errors import UnsupportedParameter
from yaie.base.types import Grammar, ReasoningLimit
from yaie.text.formats.harmony import HARMONY, HarmonyParser
from yaie.text.formats.json_calls import (
    APRIEL,
    COMMAND,
    GRANITE,
    HERMES,
    JSON,
    LLAMA,
    NEMOTRON,
    PHI,
)
from yaie.text.formats.lark import Lark
from yaie.text.formats.named_calls import DEEPSEEK, DEEPSEEK_V3, KIMI, MISTRAL, MISTRAL_LIST
from yaie.text.formats.parser import MarkupParser
from yaie.text.formats.syntax import CallSyntax, Thinking
from yaie.text.formats.tagged_calls import GLM, MINIMAX, QWEN3_CODER, SEED
from yaie.text.formats.tool import Tool
from yaie.text.output_parts import OutputParser, PlainText
from yaie.text.tokenizer import Tokenizer

# Signs in a chat template, all of which it shows, and the syntax. The first row that fits counts:
# a template may show the sign of a later one too.
SYNTAXES: tuple[tuple[tuple[str, ...], CallSyntax], ...] = (
    (("<|channel|>", "<|message|>"), HARMONY),
    (("<｜tool▁calls▁begin｜>", "```json"), DEEPSEEK_V3),
    (("<｜tool▁calls▁begin｜>",), DEEPSEEK),
    (("<|tool_calls_section_begin|>",), KIMI),
    (("[TOOL_CALLS]", "[ARGS]"), MISTRAL),
    (("[TOOL_CALLS]",), MISTRAL_LIST),
    (("<seed:tool_call>",), SEED),
    (("<minimax:tool_call>",), MINIMAX),
    (("<arg_key>",), GLM),
    (("<function=", "<parameter="), QWEN3_CODER),
    (("<|/tool_call|>",), PHI),
    (("<|tool_call|>",), GRANITE),
    (("<|START_ACTION|>",), COMMAND),
    (("<TOOLCALL>",), NEMOTRON),
    (("<tool_calls>",), APRIEL),
    (("<tool_call>",), HERMES),
    (("<|python_tag|>",), LLAMA),
    (('"parameters": ',), LLAMA),
    (("tools",), JSON),
)
THINKING = (
    Thinking("<think>", "</think>", hidden=("<response>", "</response>")),
    Thinking("[THINK]", "[/THINK]"),
    Thinking("<seed:think>", "</seed:think>"),
    Thinking(
        "<|START_THINKING|>",
        "<|END_THINKING|>",
        hidden=("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    ),
    Thinking("Here is my thought process:", "Here is my response:"),
)
PARSERS = {syntax.name: syntax for _, syntax in SYNTAXES}
Use = Literal["free", "forced", "none"]  # tool use
# Of the reasoning, by the end of the prompt; free: the model may open it.
ThinkingState = Literal["open", "closed", "free"]
_TAIL_TOKENS = 16  # last prompt tokens, which may open the reasoning


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """Format of one model's answers; without syntax and thinking they are plain text."""

    syntax: CallSyntax | None = None
    thinking: Thinking | None = None

    def thinking_in(self, tokenizer: Tokenizer, prompt_token_ids: Sequence[int]) -> ThinkingState:
        """Return the reasoning state at the end of a prompt."""
        if self.thinking is None:
            return "free"
        tail = tokenizer.decode(list(prompt_token_ids[-_TAIL_TOKENS:]), skip_special_tokens=False)
        if tail.rstrip().endswith(self.thinking.opener):
            return "open"
        return "closed" if tail.rstrip().endswith(self.thinking.closer) else "free"

    def parser(
        self, tools: Sequence[Tool], *, thinking: ThinkingState, max_calls: int | None = None
    ) -> Callable[[], OutputParser]:
        """Return a maker of parsers; without tools calls are text."""
        syntax = self.syntax if tools else None
        if self.syntax is HARMONY:
            return lambda: HarmonyParser(tools, max_calls)
        if syntax is None and self.thinking is None:
            return PlainText
        return lambda: MarkupParser(
            syntax, self.thinking, is_thinking=thinking == "open", tools=tools, max_calls=max_calls
        )

    def reasoning_limit(
        self, max_tokens: int, tokenizer: Tokenizer, thinking: ThinkingState
    ) -> ReasoningLimit | None:
        """Return the limit on reasoning tokens.

        None where the reasoning markers are not single tokens, or there are none.
        """
        if self.thinking is None:
            return None
        opener, closer = (
            tokenizer.marker_ids.get(each) for each in (self.thinking.opener, self.thinking.closer)
        )
        if opener is None or closer is None:
            return None
        return ReasoningLimit(
            max_tokens=max_tokens,
            opener_id=opener,
            closer_id=closer,
            is_open=thinking == "open",
        )

    def grammar(
        self,
        tools: Sequence[Tool],
        tokenizer: Tokenizer,
        *,
        use: Use,
        thinking: ThinkingState,
        is_parallel: bool = True,
        answer: Grammar | None = None,
    ) -> Grammar | None:
        """Return the grammar of answers: which calls they have, and what else they may be.

        `answer` constrains an answer without calls. None if all texts are answers. Raises
        `UnsupportedParameter` where calls look like answers.
        """
        if answer is not None and use == "free" and tools and self._is_bare:
            raise UnsupportedParameter(
                f"{answer.param} cannot be combined with tools on this model, since its tool "
                f"calls are JSON like the answer; omit one of them, or set tool_choice",
                param=answer.param,
            )
        lark = Lark(tokenizer.marker_ids)
        body, param = "", "tools"
        calls = ""
        if self.syntax is not None and self.writes_calls(tools, tokenizer, use, answer):
            calls = self.syntax.grammar(tools, lark, is_parallel)
            # Free calls follow any text.
            body = "calls" if use == "forced" or answer else "/(?s:.*)/ calls | /(?s:.*)/"
        if use != "forced" and answer is not None:
            is_alone = self.thinking is None or thinking == "closed"
            if not calls and is_alone and self.syntax is not HARMONY:
                return answer  # as it is
            body = " | ".join(filter(None, (body, self._answer(lark.of(answer), lark))))
            param = answer.param
        elif use == "none" and self.syntax is not None and self.syntax.openers:
            body, param = lark.without(self.syntax.openers), "tool_choice"
        if not body:
            return None
        start = f"start: {self._thought(lark, thinking)}({body})"
        source = "\n".join(filter(None, (start, calls, *lark.terminals))) + "\n"
        return Grammar(kind="lark", source=source, param=param)

    def writes_calls(
        self, tools: Sequence[Tool], tokenizer: Tokenizer, use: Use, answer: Grammar | None
    ) -> bool:
        """Return whether the grammar of answers has the calls of the tools."""
        if self.syntax is None or not tools or use == "none":
            return False
        return use == "forced" or answer is not None or self._is_strict(tools, tokenizer)

    def _is_strict(self, tools: Sequence[Tool], tokenizer: Tokenizer) -> bool:
        """Return whether free calls follow schemas: their openers must differ from any text."""
        openers = self.syntax.openers[:1] if self.syntax is not None else ()  # as it is written
        has_tokens = bool(openers) and all(each in tokenizer.marker_ids for each in openers)
        return has_tokens and any(tool.is_strict for tool in tools)

    @property
    def _is_bare(self) -> bool:
        return self.syntax is not None and self.syntax.is_bare

    def _answer(self, expression: str, lark: Lark) -> str:
        return HARMONY.final(expression, lark) if self.syntax is HARMONY else expression

    def _thought(self, lark: Lark, thinking: ThinkingState) -> str:
        """Return the expression for the reasoning, and the space after it."""
        if self.thinking is None or thinking == "closed":
            return ""
        opener, space = self.thinking.opener, "/[ \\n]{0,2}/"
        thought = f"{lark.up_to(self.thinking.closer)} {space} "
        return thought if thinking == "open" else f"({lark.text(opener)} {thought})? "


@lru_cache(maxsize=16)
def detect_format(template: str, parser: str = "auto") -> OutputFormat:
    """Return the format that a chat template shows; `parser` names another syntax, or none.

    A template that shows no tools gets them as text, and calls in the syntax of Hermes.
    """
    syntax: CallSyntax | None
    if parser == "auto":
        syntax = next(
            (syntax for signs, syntax in SYNTAXES if all(sign in template for sign in signs)),
            HERMES,
        )
    else:
        syntax = PARSERS.get(parser)
    if syntax is HARMONY:
        return OutputFormat(syntax)
    thinking = next((each for each in THINKING if each.closer in template), None)
    if thinking is not None:
        hidden = tuple(each for each in thinking.hidden if each in template)
        thinking = replace(thinking, hidden=hidden)
    return OutputFormat(syntax, thinking)
