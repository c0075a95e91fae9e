"""The grammar process: what the kernel ends in it is one request's error, and it ends with us."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from llguidance import LLMatcher

from tests.engine.asking import Answers, MakeCore, ask, run
from tests.engine.test_grammar import PROMPT, SCHEMA, under
from tests.engine.test_grammar_costs import AMBIGUOUS, LIMIT_OF_TEST_S, make_costly
from tests.tiny_model import VOCAB_SIZE
from yaie.base.types import Grammar
from yaie.engine.core import EngineCore
from yaie.engine.grammar import compiler, grammar_cost, grammar_worker
from yaie.engine.grammar.grammar_cost import Spending
from yaie.engine.grammar.grammar_process import GrammarJob
from yaie.engine.grammar.grammar_worker import GrammarWorker, RemoteMatcher
from yaie.engine.grammar.token_table import PackedTokens, pack_tokens
from yaie.text.tokenizer import load_tokenizer

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("one_thread")]
LITERAL = Grammar(kind="regex", source="(c{901}){1000}", param="guided_regex")
LATE_LITERAL = Grammar(kind="regex", source="abcdefghijklmnopq(c{901}){1000}", param="guided_regex")

MEASURED = Grammar(kind="lark", source="start: A\nA: /[a-z]+/ & /.*x.*/", param="g")


@pytest.fixture
def core(make_core: MakeCore) -> Iterator[EngineCore]:
    core = make_core()
    yield core
    core.close()


def fault_of(core: EngineCore, grammar: Grammar) -> str:
    answers = run(core, under(grammar, max_tokens=60), ask("plain", PROMPT, max_tokens=8))
    assert answers.last("plain").error is None
    error = answers.last("r").error
    assert error is not None
    assert (error.status, error.param) == (400, grammar.param)
    return error.message


def children_of(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(each) for file in found for each in file.read_text().split()]


def test_masks_are_those_of_the_engine(core: EngineCore, tiny_model_dir: Path) -> None:
    """Also where the text is forced, which the tokenizer itself divides."""
    compiler = core._grammars._compiler
    table = compiler._get_tokenizer("x")
    for source in ('start: "the plan is the tree"', "start: /[ab]{3}/", "start: /the (plan|tree)/"):
        twin = LLMatcher(table, source, log_level=0)
        outcome = compiler.worker.measure(source)
        assert outcome.mask == twin.compute_bitmask()
        assert not outcome.fault and outcome.num_bytes > 1000


@pytest.mark.parametrize("grammar", [LITERAL, LATE_LITERAL])
def test_a_literal_beyond_the_memory_is_told_and_the_next_grammar_works(
    core: EngineCore, grammar: Grammar
) -> None:
    message = fault_of(core, grammar)
    assert "64 MiB of memory" in message or "too many expressions" in message
    assert "shorten long literals" in message
    assert run(core, under(MEASURED, max_tokens=5)).last("r").finish_reason == "length"


def test_a_compilation_beyond_its_time_is_told(
    core: EngineCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (compiler, grammar_worker):
        monkeypatch.setattr(module, "COMPILE_S", 0.05)
    message = fault_of(core, LITERAL)
    assert "more than" in message and "0.05 s of processor time" in message


def test_an_ambiguous_grammar_ends_at_its_budget(
    core: EngineCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grammar_cost, "STEP_S", 0.0)
    monkeypatch.setattr(grammar_cost, "REQUEST_S", 0.05)
    monkeypatch.setattr(grammar_cost, "TOKEN_S", 0.0)
    answers = run(core, under(AMBIGUOUS, max_tokens=400, ignore_eos=True, n=4))
    error = next(each.error for each in (answers.last("r", at) for at in range(4)) if each.error)
    assert error.status == 400
    assert "ambiguous" in error.message


def test_answers_survive_the_end_of_the_process(make_core: MakeCore, core: EngineCore) -> None:
    request = under(SCHEMA, temperature=1.0, seed=3, logprobs=1, n=2)
    make_costly(core, SCHEMA)
    core.add(request)
    answers = Answers()
    ends = [10, 20, 30]
    while core.has_work:
        answers.take(core.step())
        process = core._grammars._compiler.worker._process
        if process is not None and ends and core.stats.output_tokens >= ends[0]:
            del ends[0]
            for child in children_of(process.pid) if ends else [process.pid]:
                os.kill(child, signal.SIGKILL)
    expected = run(make_core(), request)
    for index in range(2):
        assert answers.tokens("r", index) == expected.tokens("r", index)
    assert not ends


def test_a_process_without_tokens_is_one_grammars_error(tiny_model_dir: Path) -> None:
    tokenizer = load_tokenizer(tiny_model_dir)
    is_broken = True

    def pack() -> PackedTokens:
        if is_broken:
            raise OSError("tokenizer.json is gone")
        ends = [tokenizer.eos_token_id]
        return pack_tokens(tokenizer, vocab_size=VOCAB_SIZE, end_token_ids=ends)

    worker = GrammarWorker(pack, 64 << 20)
    matcher = RemoteMatcher(worker, 'start: "a"', [], Spending())
    while not matcher.is_ready:
        worker.wait(1.0)
    assert matcher.failure is not None and matcher.failure.status == 500
    assert matcher.get_error().endswith("tokenizer.json is gone")
    with pytest.raises(OSError, match="gone"):
        worker.measure('start: "a"')
    assert worker._num_pending == 0
    is_broken = False
    assert not worker.measure('start: "a"').fault
    worker.close()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("sent", [b"", b"\0", b"\0\0\0\x63half a mask"])
def test_an_answer_that_ends_in_the_middle_is_not_waited_for(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grammar_worker, "LONGEST_S", 0.05)
    ours, theirs = socket.socketpair()
    channel = grammar_worker._Channel(ours)
    theirs.send(sent)
    with pytest.raises(BlockingIOError):
        channel.exchange(GrammarJob(1, 1.0))
    theirs.close()
    channel.close()


def test_a_closed_channel_leaves_other_descriptors_alone() -> None:
    """A thread may be between two reads when another one closes the channel."""
    ours, theirs = socket.socketpair()
    other, far = socket.socketpair()
    channel = grammar_worker._Channel(ours)
    theirs.send(b"\0\0\0")
    ended: list[type[Exception]] = []

    def exchange() -> None:
        with channel.lock:
            try:
                channel.exchange(GrammarJob(1, 1.0))
            except (OSError, EOFError) as error:
                ended.append(type(error))
            assert ours.fileno() >= 0  # no other file has its number meanwhile

    thread = threading.Thread(target=exchange)
    thread.start()
    while select.select([ours], [], [], 0)[0]:  # until it has read the three bytes
        time.sleep(0.001)
    channel.close()
    thread.join(LIMIT_OF_TEST_S)
    assert ended == [EOFError]
    assert ours.fileno() == -1
    for each in (theirs, other, far):
        each.close()


@pytest.mark.parametrize("is_costly_later", [False, True])
@pytest.mark.parametrize("module", ["yaie.engine.grammar.token_table", "yaie.nothing", None])
def test_a_process_that_does_not_start_is_no_fault_of_the_grammar(
    core: EngineCore, module: str | None, is_costly_later: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told as 503, at the compilation and at a later mask; plain grammars still work."""
    if is_costly_later:
        make_costly(core, SCHEMA)
        grammar = SCHEMA
    else:
        grammar = MEASURED
    with monkeypatch.context() as fault:
        if module is None:
            fault.setattr(grammar_worker, "module_command", lambda *_: ["/nonexistent/python"])
        else:
            fault.setattr(grammar_worker, "_MODULE", module)
        answers = run(core, under(grammar, max_tokens=8), ask("plain", PROMPT, max_tokens=8))
    error = answers.last("r").error
    assert error is not None
    assert (error.status, error.code, error.param) == (503, "engine_unavailable", None)
    assert "retry" in error.message and error.retry_after_s
    assert answers.last("plain").error is None
    assert run(core, under(grammar, max_tokens=8)).last("r").error is None


UNFIT = """
import socket, sys, msgspec
from pathlib import Path
from yaie.engine.grammar import grammar_process
from yaie.engine.grammar.token_table import pack_tokens
from yaie.text.tokenizer import load_tokenizer
tokens = pack_tokens(load_tokenizer(Path(sys.argv[1])), vocab_size=int(sys.argv[2]),
                     end_token_ids=[0])
def fail(*arguments):
    raise OSError("no child can serve")
grammar_process.serve = fail
ours, theirs = socket.socketpair()
grammar_process.write_frame(
    ours.fileno(), msgspec.msgpack.encode(grammar_process.Opening(tokens, 1 << 20)))
grammar_process.main([theirs.fileno()])
"""


def test_a_child_that_cannot_serve_is_not_forked_again(tiny_model_dir: Path) -> None:
    command = [sys.executable, "-c", UNFIT, str(tiny_model_dir), str(VOCAB_SIZE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert done.stderr.count("no child can serve") == 1


OWNER = """
import sys, time
from pathlib import Path
from yaie.engine.grammar.grammar_worker import GrammarWorker
from yaie.engine.grammar.token_table import pack_tokens
from yaie.text.tokenizer import load_tokenizer
tokenizer = load_tokenizer(Path(sys.argv[1]))
size, ends = int(sys.argv[2]), [tokenizer.eos_token_id]
worker = GrammarWorker(
    lambda: pack_tokens(tokenizer, vocab_size=size, end_token_ids=ends), 64 << 20
)
assert not worker.measure('start: "a"').fault
print(worker._process.pid, flush=True)
time.sleep(600)
"""


def test_the_processes_end_with_their_engine(tiny_model_dir: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tiny_model_dir), str(VOCAB_SIZE)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    process = int(owner.stdout.readline())
    family = [process, *children_of(process)]
    assert len(family) == 3
    owner.kill()
    owner.wait()
    end = time.monotonic() + LIMIT_OF_TEST_S
    while any(Path(f"/proc/{pid}/exe").exists() for pid in family):
        assert time.monotonic() < end
        time.sleep(0.01)
