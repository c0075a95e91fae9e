"""Grammar compiler: makes the `GrammarState` of an answer from its `Grammar`, with llguidance.

Any thread may call it. The model's tokenizer is read at the first grammar. A grammar that is not
plain is compiled in the grammar process first, and here if it was cheap there. Compiled grammars
are cached up to their measured size, and the least recently used are evicted.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakSet

from llguidance import LLMatcher, LLParserLimits, LLTokenizer

from yaie.base.errors import InvalidRequest, YaieError
from yaie.base.types import Grammar
from yaie.engine.grammar.grammar_cost import GrammarCost, Spending
from yaie.engine.grammar.grammar_faults import describe_fault, explain_error
from yaie.engine.grammar.grammar_process import Outcome
from yaie.engine.grammar.grammar_worker import COMPILE_S, GrammarWorker, RemoteMatcher
from yaie.engine.grammar.matcher import GrammarState, MaskPending
from yaie.engine.grammar.schema_keywords import explain_fault
from yaie.engine.grammar.schema_recursion import check_recursion
from yaie.engine.grammar.source_limits import (
    check_size,
    check_values,
    is_expansive,
    is_plain,
    plain_bytes,
)
from yaie.engine.grammar.token_table import PackedTokens, make_tokenizer, pack_tokens

if TYPE_CHECKING:
    from llguidance._lib import JsonCompileOptions

    from yaie.text.tokenizer import Tokenizer  # it imports transformers: seconds of a start

CACHE_BYTES = 64 << 20
# A grammar within these is followed in the engine's step, under these limits of llguidance.
_CHEAP_BYTES = 12 << 20
_CHEAP_S = 1.0
_STEP_LIMITS = LLParserLimits(
    step_max_items=20_000, step_lexer_fuel=100_000, max_lexer_states=10_000, verbose_errors=False
)
# A row of an ambiguous grammar costs the cube of its items. JSON schemas are not ambiguous.
_LARK_LIMITS = LLParserLimits(
    max_items_in_row=1000,
    step_max_items=20_000,
    step_lexer_fuel=100_000,
    max_lexer_states=10_000,
    verbose_errors=False,
)
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
        self._tokenizer: LLTokenizer | None = None
        self._tokenizer_lock = threading.Lock()
        self._lock = threading.Lock()  # guards the cache
        self._cache: OrderedDict[tuple[str, str], GrammarState] = OrderedDict()
        self._cache_bytes = cache_bytes
        self._costs: WeakSet[GrammarCost] = WeakSet()  # of grammars that anything still uses
        self.worker = GrammarWorker(self._pack_tokens, cache_bytes)

    def find_cached(self, grammar: Grammar) -> GrammarState | None:
        """Return a new state if the grammar's compilation is cached."""
        key = (grammar.kind, grammar.source)
        with self._lock:
            found = self._cache.get(key)
            if found is None:
                return None
            self._cache.move_to_end(key)
            if found.cost.is_costly:
                found.move()
            return found.copy(param=grammar.param)

    @property
    def num_bytes(self) -> int:
        """Bytes of the compiled grammars in the engine, cached or in use."""
        with self._lock:
            return self._num_bytes()

    def prepare(self) -> None:
        """Read the tokenizer, unless that is done; a fault is reported by `compile`."""
        with contextlib.suppress(YaieError):
            self._get_tokenizer("grammar")

    def compile(self, grammar: Grammar) -> GrammarState:
        """Return a new state at an answer's start; takes milliseconds to seconds.

        Raises `InvalidRequest` if the grammar is wrong, too large, or beyond what is supported,
        `EngineUnavailable` if the grammar process does not start.
        """
        state = self.find_cached(grammar)
        if state is not None:
            return state
        check_size(grammar)
        check_recursion(grammar)
        source = _translate(grammar)
        tokenizer = self._get_tokenizer(grammar.param)
        measured = None if is_plain(grammar) else self._measure(grammar, source)
        num_bytes = plain_bytes(grammar) if measured is None else measured.num_bytes
        is_costly = not self._make_room(num_bytes) or (
            measured is not None
            and (
                measured.num_bytes > _CHEAP_BYTES
                or measured.cpu_s > _CHEAP_S
                or is_expansive(grammar)
            )
        )
        matcher: LLMatcher | RemoteMatcher
        if is_costly:
            matcher = RemoteMatcher(self.worker, source, [], Spending(), first=measured)
        else:
            matcher = LLMatcher(
                tokenizer,
                source,
                log_level=0,
                limits=_LARK_LIMITS if grammar.kind == "lark" else _STEP_LIMITS,
            )
        if matcher.is_error():
            raise _invalid(grammar, matcher.get_error())
        state = GrammarState(
            matcher,
            self.worker,
            GrammarCost(source, num_bytes, is_costly=is_costly),
            param=grammar.param,
            vocab_size=self._vocab_size,
            end_token_ids=frozenset(tokenizer.eos_tokens),
        )
        with contextlib.suppress(MaskPending):
            state.mask()  # here rather than in the first step: it builds the first automata
            if state.must_end():
                raise InvalidRequest(
                    f"{grammar.param} matches only the empty text; let it match some text",
                    param=grammar.param,
                )
        if not state.cost.is_costly:  # its first mask is no part of a step
            state.cost = GrammarCost(source, num_bytes)
        self._keep(grammar, state)
        return state.copy()

    def _measure(self, grammar: Grammar, source: str) -> Outcome:
        """Return what a grammar costs in the grammar process.

        Raises `InvalidRequest` if it is wrong or beyond the limits, `EngineUnavailable` without a
        process.
        """
        outcome = self.worker.measure(source)
        if outcome.fault and not outcome.is_too_large:
            raise _invalid(grammar, outcome.fault)
        if fault := describe_fault(outcome, COMPILE_S, self._cache_bytes):
            raise InvalidRequest(
                f"{grammar.param} is too costly to compile: {fault}", param=grammar.param
            )
        return outcome

    def _make_room(self, num_bytes: int) -> bool:
        """Evict grammars for a new one; return False if the grammars in use leave it no room."""
        with self._lock:
            while self._cache and self._num_bytes() + num_bytes > self._cache_bytes:
                self._cache.popitem(last=False)
            return self._num_bytes() + num_bytes <= self._cache_bytes

    def _num_bytes(self) -> int:
        return sum(each.num_bytes for each in self._costs)

    def _keep(self, grammar: Grammar, state: GrammarState) -> None:
        with self._lock:
            self._costs.add(state.cost)
            self._cache[grammar.kind, grammar.source] = state

    def _pack_tokens(self) -> PackedTokens:
        return pack_tokens(
            self._read_tokenizer(),
            vocab_size=self._vocab_size,
            end_token_ids=self._end_token_ids,
        )

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
    if grammar.kind == "json_schema":
        return explain_fault(grammar, reason)
    return InvalidRequest(
        f"{grammar.param} is invalid: {explain_error(reason)}", param=grammar.param
    )
