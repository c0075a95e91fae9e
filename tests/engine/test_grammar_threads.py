"""Compilation in threads: shared, bounded in time and number. The clock is the test's."""

from __future__ import annotations

import threading

import pytest

from yaie.base.errors import InvalidRequest, Overloaded, RequestFailed, YaieError
from yaie.base.types import Grammar
from yaie.engine.grammar import compile_pool
from yaie.engine.grammar.compile_pool import LIMIT_S, CompilePool
from yaie.engine.grammar.matcher import GrammarState

LIMIT_OF_TEST_S = 60


class SlowCompiler:
    """Compiles a grammar once it is released; then raises what the source says."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.began = threading.Semaphore(0)
        self.sources: list[str] = []
        self.spent_s = 0.0

    def compile(self, grammar: Grammar) -> GrammarState:
        self.sources.append(grammar.source)
        self.began.release()
        assert self.released.wait(LIMIT_OF_TEST_S)
        if grammar.source == "bug":
            raise KeyError("a bug")
        raise InvalidRequest(f"{grammar.param} is wrong", param=grammar.param)

    def threads(self) -> CompilePool:
        return CompilePool(self.compile, lambda: None, lambda: lambda: self.spent_s)


def outcome(threads: CompilePool, grammar: Grammar) -> YaieError:
    compilation = threads.start(grammar)
    while (found := threads.outcome(compilation, grammar.param)) is None:
        threads.wait(0.01)
    assert isinstance(found, YaieError)
    return found


def test_equal_grammars_are_compiled_once_and_fail_under_the_name_of_each_field() -> None:
    compiler = SlowCompiler()
    threads = compiler.threads()
    one = threads.start(Grammar(kind="lark", source="x", param="one"))
    two = threads.start(Grammar(kind="lark", source="x", param="two"))
    assert threads.outcome(one, "one") is None
    compiler.released.set()
    while threads.outcome(one, "one") is None:
        threads.wait(0.01)
    messages = [threads.outcome(one, "one"), threads.outcome(two, "two")]
    assert [str(message) for message in messages] == ["one is wrong", "two is wrong"]
    assert compiler.sources == ["x"]


def test_a_grammar_beyond_the_limit_fails_and_the_next_ones_go_on() -> None:
    compiler = SlowCompiler()
    threads = compiler.threads()
    slow = [threads.start(Grammar(kind="lark", source=f"slow {i}")) for i in range(2)]
    for _ in slow:
        assert compiler.began.acquire(timeout=LIMIT_OF_TEST_S)
    threads.start(Grammar(kind="lark", source="next"))
    assert "next" not in compiler.sources  # both threads are taken
    compiler.spent_s = LIMIT_S
    for each in slow:
        error = threads.outcome(each, "response_format")
        assert isinstance(error, InvalidRequest)
        assert (error.status, error.param) == (400, "response_format")
        assert "2 s" in error.message
    assert compiler.began.acquire(timeout=LIMIT_OF_TEST_S)
    assert "next" in compiler.sources
    compiler.released.set()


def test_a_fault_of_the_compiler_is_the_error_of_its_request() -> None:
    compiler = SlowCompiler()
    compiler.released.set()
    threads = compiler.threads()
    assert isinstance(outcome(threads, Grammar(kind="lark", source="bug")), RequestFailed)
    assert isinstance(outcome(threads, Grammar(kind="lark", source="other")), InvalidRequest)


def test_too_many_pending_grammars_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_pool, "MAX_PENDING", 3)
    compiler = SlowCompiler()
    threads = compiler.threads()
    for number in range(3):
        threads.start(Grammar(kind="lark", source=str(number)))
    with pytest.raises(Overloaded, match="3 grammars"):
        threads.start(Grammar(kind="lark", source="one more"))
    threads.start(Grammar(kind="lark", source="1"))  # its like is pending
    compiler.released.set()
