"""`OutputFormat`: how one model writes calls and reasoning, by what its chat template shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

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
from yaie.text.parts import OutputParser, PlainText
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
_TAIL_TOKENS = 16  # of the prompt, that may open the reasoning


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """Format of one model's answers; without syntax and thinking they are plain text."""

    syntax: CallSyntax | None = None
    thinking: Thinking | None = None

    def opens_thinking(self, tokenizer: Tokenizer, prompt_token_ids: Sequence[int]) -> bool:
        """Return True if the prompt ends with the beginning of the reasoning."""
        if self.thinking is None:
            return False
        tail = tokenizer.decode(list(prompt_token_ids[-_TAIL_TOKENS:]), skip_special_tokens=False)
        return tail.rstrip().endswith(self.thinking.opener)

    def parser(
        self, tools: Sequence[Tool], *, is_thinking: bool, max_calls: int | None = None
    ) -> Callable[[], OutputParser]:
        """Return a maker of parsers; without tools calls are text."""
        syntax = self.syntax if tools else None
        if self.syntax is HARMONY:
            return lambda: HarmonyParser(tools, max_calls)
        if syntax is None and self.thinking is None:
            return PlainText
        return lambda: MarkupParser(
            syntax, self.thinking, is_thinking=is_thinking, tools=tools, max_calls=max_calls
        )

    def forced_calls(
        self, tools: Sequence[Tool], tokenizer: Tokenizer, *, is_thinking: bool, is_parallel: bool
    ) -> str:
        """Return the Lark source of an answer that calls one of the tools, after reasoning."""
        assert self.syntax is not None
        lark = Lark(tokenizer.marker_ids)
        calls = self.syntax.grammar(tools, lark, is_parallel)
        start = "start: " + self._thought(lark, is_thinking) + "calls"
        return "\n".join([start, calls, *lark.terminals]) + "\n"

    def _thought(self, lark: Lark, is_thinking: bool) -> str:
        if self.thinking is None:
            return ""
        thought = f"{lark.up_to(self.thinking.closer)} /[ \\n]{{0,2}}/ "
        if is_thinking:
            return thought
        return f"({lark.text(self.thinking.opener)} {thought})? "


@lru_cache(maxsize=16)
def detect_format(template: str, parser: str = "auto") -> OutputFormat:
    """Return the format that a chat template shows; `parser` names another syntax, or none."""
    if parser == "auto":
        syntax = next(
            (syntax for signs, syntax in SYNTAXES if all(sign in template for sign in signs)), None
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
