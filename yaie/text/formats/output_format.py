"""`OutputFormat`: how one model writes calls and reasoning, by what its chat template shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from yaie.text.formats.json_calls import GRANITE, HERMES
from yaie.text.formats.lark import Lark
from yaie.text.formats.parser import MarkupParser
from yaie.text.formats.syntax import CallSyntax, Thinking, Tool
from yaie.text.parts import OutputParser, PlainText
from yaie.text.tokenizer import Tokenizer

# In this order: a template of the first kind may show the sign of a later one too.
SYNTAXES: tuple[tuple[str, CallSyntax], ...] = (
    ("<|tool_call|>", GRANITE),
    ("<tool_call>", HERMES),
)
THINKING = (Thinking("<think>", "</think>"), Thinking("[THINK]", "[/THINK]"))
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
        if syntax is None and self.thinking is None:
            return PlainText
        names = frozenset(tool.name for tool in tools)
        return lambda: MarkupParser(
            syntax, self.thinking, is_thinking=is_thinking, names=names, max_calls=max_calls
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
def detect_format(template: str) -> OutputFormat:
    """Return the format that a chat template shows."""
    syntax = next((syntax for sign, syntax in SYNTAXES if sign in template), None)
    thinking = next((each for each in THINKING if each.closer in template), None)
    return OutputFormat(syntax, thinking)
