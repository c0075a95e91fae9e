"""Grammar compiler: makes the `GrammarState` of an answer from its `Grammar`, with llguidance.

Any thread may call it. The model's tokenizer is read at the first grammar. Compiled grammars are
cached up to a size limit, and the least recently used are evicted.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from llguidance import LLMatcher, LLParserLimits, LLTokenizer

from yaie.base.errors import InvalidRequest, YaieError
from yaie.base.types import Grammar
from yaie.engine.grammar.matcher import GrammarState
from yaie.engine.grammar.source_limits import check_size, check_values
from yaie.engine.grammar.token_table import make_tokenizer

if TYPE_CHECKING:
    from llguidance._lib import JsonCompileOptions

    from yaie.text.tokenizer import Tokenizer  # it imports transformers: seconds of a start

CACHE_BYTES = 128 * 1024**2
# Estimates of a compiled grammar: its rules by the length of the source, its automata apart.
_BYTES_OF_SOURCE = 64  # for each byte
_BYTES_OF_AUTOMATA = 256 * 1024
# JSON as `json.dumps` writes it. One layout only: a model cannot write spaces for ever, and most
# tokens that a schema determines are forced.
JSON_FORM: JsonCompileOptions = {
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
}
_ANY_OBJECT = '{"type": "object"}'


class GrammarCompiler:
    """Compiler for one model's grammars, with a cache."""

    def __init__(
        self,
        read_tokenizer: Callable[[], Tokenizer],
        *,
        vocab_size: int,
        end_token_ids: Sequence[int],
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        """`vocab_size` is the width of the logits; `end_token_ids` may end an answer."""
        self._read_tokenizer = read_tokenizer
        self._vocab_size = vocab_size
        self._end_token_ids = [each for each in end_token_ids if 0 <= each < vocab_size]
        self._limits = LLParserLimits(verbose_errors=False)
        self._tokenizer: LLTokenizer | None = None
        self._tokenizer_lock = threading.Lock()
        self._lock = threading.Lock()  # guards the cache
        self._cache: OrderedDict[tuple[str, str], GrammarState] = OrderedDict()
        self._cache_bytes = cache_bytes
        self._num_cached_bytes = 0

    def find_cached(self, grammar: Grammar) -> GrammarState | None:
        """Return a new state if the grammar's compilation is cached."""
        key = (grammar.kind, grammar.source)
        with self._lock:
            found = self._cache.get(key)
            if found is None:
                return None
            self._cache.move_to_end(key)
            return found.copy(param=grammar.param)

    def prepare(self) -> None:
        """Read the tokenizer, unless that is done; a fault is reported by `compile`."""
        with contextlib.suppress(YaieError):
            self._get_tokenizer("grammar")

    def compile(self, grammar: Grammar) -> GrammarState:
        """Return a new state at an answer's start; takes milliseconds to seconds.

        Raises `InvalidRequest` if the grammar is wrong, too large, or beyond what is supported.
        """
        state = self.find_cached(grammar)
        if state is not None:
            return state
        check_size(grammar)
        source = _translate(grammar)
        matcher = LLMatcher(
            self._get_tokenizer(grammar.param), source, log_level=0, limits=self._limits
        )
        if matcher.is_error():
            raise _invalid(grammar, matcher.get_error())
        ends = frozenset(self._get_tokenizer(grammar.param).eos_tokens)
        state = GrammarState(
            matcher, param=grammar.param, vocab_size=self._vocab_size, end_token_ids=ends
        )
        state.mask()  # here rather than in the first step: it builds the first automata
        if state.must_end():
            raise InvalidRequest(
                f"{grammar.param} matches only the empty text; let it match some text",
                param=grammar.param,
            )
        self._keep(grammar, state)
        return state.copy()

    def _keep(self, grammar: Grammar, state: GrammarState) -> None:
        key = (grammar.kind, grammar.source)
        with self._lock:
            if key in self._cache:
                return
            self._cache[key] = state
            self._num_cached_bytes += _size_of(key)
            while self._num_cached_bytes > self._cache_bytes and len(self._cache) > 1:
                oldest, _ = self._cache.popitem(last=False)
                self._num_cached_bytes -= _size_of(oldest)

    def _get_tokenizer(self, param: str) -> LLTokenizer:
        with self._tokenizer_lock:
            if self._tokenizer is None:
                try:
                    self._tokenizer = make_tokenizer(
                        self._read_tokenizer(),
                        vocab_size=self._vocab_size,
                        end_token_ids=self._end_token_ids,
                    )
                except Exception as error:
                    raise InvalidRequest(
                        f"{param} cannot be used: llguidance does not support this model's"
                        f" tokenizer ({error}); send the request without it",
                        param=param,
                    ) from None
            return self._tokenizer


def _size_of(key: tuple[str, str]) -> int:
    return _BYTES_OF_AUTOMATA + _BYTES_OF_SOURCE * len(key[1].encode())


def _translate(grammar: Grammar) -> str:
    """Return the grammar in llguidance's format."""
    kind, source = grammar.kind, grammar.source
    if kind == "regex":
        return LLMatcher.grammar_from_regex(source)
    if kind == "lark":
        return LLMatcher.grammar_from_lark(source)
    if kind == "choice":
        return LLMatcher.grammar_from_lark(_lark_of_choices(grammar))
    if kind == "json_object":
        return LLMatcher.grammar_from_json_schema(_ANY_OBJECT, defaults=JSON_FORM)
    check_values(grammar)
    if source.strip() == "true":  # a valid schema that is not a JSON object
        source = "{}"
    try:
        return LLMatcher.grammar_from_json_schema(source, defaults=JSON_FORM)
    except ValueError as error:
        raise _invalid(grammar, str(error)) from None


def _lark_of_choices(grammar: Grammar) -> str:
    try:
        choices = json.loads(grammar.source)
    except ValueError as error:
        raise _invalid(grammar, str(error)) from None
    if not isinstance(choices, list) or not choices:
        raise _invalid(grammar, "it must be a list of at least one text")
    for choice in choices:
        if not isinstance(choice, str) or not choice:
            raise _invalid(grammar, "each choice must be a non-empty text")
    return "start: " + " | ".join(json.dumps(choice) for choice in choices)


def _invalid(grammar: Grammar, reason: str) -> InvalidRequest:
    shown = " ".join(reason.split())[:400]
    return InvalidRequest(f"{grammar.param} is invalid: {shown}", param=grammar.param)
