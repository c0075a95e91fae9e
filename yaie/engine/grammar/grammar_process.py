"""Grammar process: measures costly grammars, and follows them token by token, within limits.

llguidance's own limits count expressions and items, not bytes or seconds: a regular expression of
18 bytes takes 200 MiB and 2 s. This process builds the tokenizer once and forks a child for each
channel. A child answers jobs in order. The kernel ends it at a job's processor time (`ITIMER_PROF`)
and at its address space (`RLIMIT_AS`); the next child is a fork away. All of them end with the
engine, whose end of the channels closes then.

Run by `GrammarWorker`: `python -m yaie.engine.grammar.grammar_process FD FD`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec
from llguidance import LLMatcher, LLParserLimits, LLTokenizer
from msgspec.structs import replace

from yaie.engine.grammar.token_table import SLICES, PackedTokens
from yaie.process.limits import growth_limiter

if TYPE_CHECKING:
    from llguidance import TokenizerWrapper

LENGTH_BYTES = 4
LONGEST_FRAME = 1 << 28
PR_SET_PDEATHSIG = 1
NICENESS = 2  # below the engine, where cores are short
ROOM_BYTES = 64 << 20  # address space of a child beyond its budget, for what is freed again


class Opening(msgspec.Struct, frozen=True):
    """First frame of the first channel: the model's tokens, and the bytes for grammars."""

    tokens: PackedTokens
    budget_bytes: int


class GrammarJob(msgspec.Struct, frozen=True, omit_defaults=True):
    """One grammar to measure (`state` 0), or one state to advance.

    `source` is in llguidance's format; empty if the state is open. `tokens` follow the first
    `num_known` tokens of the state.
    """

    number: int
    limit_s: float  # processor time
    source: str = ""
    state: int = 0
    tokens: tuple[int, ...] = ()
    num_known: int = 0
    closed: tuple[int, ...] = ()  # states that are no longer needed


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """A job's result; `mask` has one bit per token, 32 to a word."""

    number: int
    fault: str = ""  # llguidance's words
    is_unknown: bool = False  # the state is not open here: send its source and all tokens
    is_too_large: bool = False
    signal: int = 0  # which ended the child
    mask: bytes = b""
    is_accepting: bool = False
    is_stopped: bool = False  # nothing can follow
    cpu_s: float = 0.0
    num_bytes: int = 0  # of the compiled grammar and its states


class _Compiled:
    """One compiled grammar with its measured bytes, which grow while its states advance."""

    __slots__ = ("master", "num_bytes", "num_states")

    def __init__(self, master: LLMatcher) -> None:
        self.master: LLMatcher | None = master
        self.num_bytes = 0
        self.num_states = 0


class _State:
    __slots__ = ("grammar", "matcher", "num_tokens")

    def __init__(self, grammar: _Compiled, matcher: LLMatcher) -> None:
        self.grammar = grammar
        self.matcher = matcher
        self.num_tokens = 0


class GrammarFollower:
    """The compiled grammars and open states of one child. Plain and synchronous."""

    def __init__(
        self, tokenizer: LLTokenizer, budget_bytes: int, count_bytes: Callable[[], int]
    ) -> None:
        """`count_bytes` returns the bytes allocated in this process."""
        self._tokenizer = tokenizer
        self._budget_bytes = budget_bytes
        self._count_bytes = count_bytes
        self._limits = LLParserLimits(verbose_errors=False)
        self._grammars: OrderedDict[str, _Compiled] = OrderedDict()
        self._states: dict[int, _State] = {}

    def answer(self, job: GrammarJob) -> Outcome:
        """Do one job."""
        for number in job.closed:
            self._close(number)
        return self._measure(job) if job.state == 0 else self._advance(job)

    def _measure(self, job: GrammarJob) -> Outcome:
        before, began_s = self._count_bytes(), time.thread_time()
        matcher = self._compile(job.source)
        return self._outcome(job, matcher, began_s, before, 0)

    def _advance(self, job: GrammarJob) -> Outcome:
        before, began_s = self._count_bytes(), time.thread_time()
        state = self._states.get(job.state)
        if state is None or state.num_tokens != job.num_known or job.source:
            self._close(job.state)
            if not job.source:
                return Outcome(job.number, is_unknown=True)
            state = self._open(job.state, job.source)
        grammar = state.grammar
        for token_id in job.tokens:
            if not state.matcher.consume_token(token_id):
                break
        state.num_tokens = job.num_known + len(job.tokens)
        outcome = self._outcome(job, state.matcher, began_s, before, grammar.num_bytes)
        grammar.num_bytes = outcome.num_bytes
        if not outcome.is_too_large and not outcome.fault:
            in_use = {each.grammar for each in self._states.values()}
            if sum(each.num_bytes for each in in_use) > self._budget_bytes:
                largest = max(each.num_bytes for each in in_use)
                outcome = replace(outcome, is_too_large=grammar.num_bytes == largest)
        if outcome.fault or outcome.is_too_large:
            # The states of a grammar share its lexer, and a lexer beyond its limits stays so. One
            # that other states have exhausted is compiled again.
            self._forget(job.state)
            if "lexer" in outcome.fault and not job.source:
                return Outcome(job.number, is_unknown=True)
        self._trim()
        return outcome

    def _outcome(
        self, job: GrammarJob, matcher: LLMatcher, began_s: float, before: int, known: int
    ) -> Outcome:
        """Compute a mask; return it with all costs since `began_s`, from `before` bytes on."""
        mask = matcher.compute_bitmask()
        cpu_s = time.thread_time() - began_s  # counting bytes takes long in a large heap
        num_bytes = max(0, known + self._count_bytes() - before)
        return Outcome(
            job.number,
            fault=matcher.get_error() if matcher.is_error() else "",
            is_too_large=num_bytes > self._budget_bytes,
            mask=mask,
            is_accepting=not matcher.is_error() and matcher.is_accepting(),
            is_stopped=not matcher.is_error() and matcher.is_stopped(),
            cpu_s=cpu_s,
            num_bytes=num_bytes,
        )

    def _open(self, number: int, source: str) -> _State:
        found = self._grammars.get(source)
        if found is None or found.master is None:
            found = self._grammars[source] = _Compiled(self._compile(source))
        self._grammars.move_to_end(source)
        assert found.master is not None
        state = self._states[number] = _State(found, found.master.deep_copy())
        found.num_states += 1
        return state

    def _compile(self, source: str) -> LLMatcher:
        return LLMatcher(self._tokenizer, source, log_level=0, limits=self._limits)

    def _close(self, number: int) -> None:
        state = self._states.pop(number, None)
        if state is None:
            return
        grammar, before = state.grammar, self._count_bytes()
        grammar.num_states -= 1
        del state
        grammar.num_bytes += self._count_bytes() - before

    def _forget(self, number: int) -> None:
        """Close a state and let no other one begin from its compiled grammar."""
        grammar = self._states[number].grammar
        for source, each in tuple(self._grammars.items()):
            if each is grammar:
                del self._grammars[source]
        grammar.master = None
        self._close(number)

    def _trim(self) -> None:
        """Forget grammars without a state, the least recently used first, beyond the budget."""
        total = sum(each.num_bytes for each in self._grammars.values())
        for source, each in tuple(self._grammars.items()):
            if total <= self._budget_bytes:
                return
            if each.num_states == 0:
                total -= each.num_bytes
                del self._grammars[source]


# -- a child ------------------------------------------------------------------------------------


def serve(channel: int, tokenizer: LLTokenizer, budget_bytes: int) -> None:
    """Answer the jobs of a channel until it closes."""
    if sys.platform == "linux":
        import resource

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        growth_limiter()(budget_bytes + ROOM_BYTES)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    follower = GrammarFollower(tokenizer, budget_bytes, bytes_counter())
    decoder, encoder = msgspec.msgpack.Decoder(GrammarJob), msgspec.msgpack.Encoder()
    while (frame := read_frame(channel)) is not None:
        job = decoder.decode(frame)
        signal.setitimer(signal.ITIMER_PROF, job.limit_s)
        try:
            outcome = follower.answer(job)
        except MemoryError:
            os.abort()  # as llguidance does at the limit
        except BaseException as error:  # a panic of the library is no Exception
            outcome = Outcome(job.number, fault=f"{type(error).__name__}: {error}"[:400])
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        write_frame(channel, encoder.encode(outcome))


def bytes_counter() -> Callable[[], int]:
    """Return a function that counts this process's allocated bytes; else its resident ones."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallinfo2"):
        library.mallinfo2.restype = _HeapInfo

        def count() -> int:
            info = library.mallinfo2()
            return int(info.uordblks) + int(info.hblkhd)

        return count
    return _resident_bytes if sys.platform == "linux" else (lambda: 0)


class _HeapInfo(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd",
            "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    )  # fmt: skip


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# -- frames -------------------------------------------------------------------------------------


def read_frame(channel: int) -> bytes | None:
    """Return the next frame's bytes; None at the end of the channel."""
    length = _read(channel, LENGTH_BYTES)
    if length is None:
        return None
    return _read(channel, min(int.from_bytes(length, "big"), LONGEST_FRAME))


def _read(channel: int, length: int) -> bytes | None:
    parts = []
    while length:
        try:
            part = os.read(channel, min(length, 1 << 20))
        except ConnectionError:
            return None
        if not part:
            return None
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def write_frame(channel: int, content: bytes) -> None:
    """Write a frame whole. Raises `OSError` if the reader is gone."""
    view = memoryview(len(content).to_bytes(LENGTH_BYTES, "big") + content)
    while view:
        view = view[os.write(channel, view) :]


# -- the parent of the children -------------------------------------------------------------------


def main(channels: list[int]) -> None:
    """Build the tokenizer, then keep one child for each channel until one of them closes."""
    frame = read_frame(channels[0])
    if frame is None:
        return
    opening = msgspec.msgpack.decode(frame, type=Opening)
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    tokenizer = _build_tokenizer(opening.tokens)
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    poller = select.poll()
    poller.register(wake_read, select.POLLIN)
    children: dict[int, int] = {}  # channel of each child
    for channel in channels:
        poller.register(channel, 0)  # POLLHUP is always reported
    waiting = list(channels)
    while True:
        for channel in waiting:
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                serve(channel, tokenizer, opening.budget_bytes)
                os._exit(0)
            children[pid] = channel
        waiting.clear()
        if any(fd in channels for fd, _ in poller.poll()):
            os._exit(0)  # the engine is gone; the kernel ends the children
        os.read(wake_read, 4096)
        while children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if not os.WIFSIGNALED(status):
                os._exit(1)  # it cannot serve, and nor could the next one
            channel = children.pop(pid)
            ended = Outcome(-1, signal=os.WTERMSIG(status))
            write_frame(channel, msgspec.msgpack.encode(ended))
            waiting.append(channel)


def _build_tokenizer(packed: PackedTokens) -> LLTokenizer:
    if not packed.tokens:
        return LLTokenizer(
            packed.json,
            n_vocab=packed.vocab_size,
            eos_token=packed.end_token_ids or None,
            slices=SLICES,
        )
    return LLTokenizer(
        cast("TokenizerWrapper", _Wrapper(packed)),
        n_vocab=packed.vocab_size,
        eos_token=packed.end_token_ids,
        slices=SLICES,
    )


class _Wrapper:
    """Tokens with the interface of llguidance's `TokenizerWrapper`."""

    is_tokenizer_wrapper = True
    bos_token_id = None
    special_token_ids = ()

    def __init__(self, packed: PackedTokens) -> None:
        from tokenizers import Tokenizer  # only this process needs it without transformers

        self.tokens = packed.tokens
        self.eos_token_id = packed.end_token_ids[0]
        self._fast = Tokenizer.from_str(packed.json)

    def __call__(self, text: str) -> list[int]:
        """Return `text` as token ids: a mask leaves the tokenizer's division of a forced text."""
        ids: list[int] = self._fast.encode(text, add_special_tokens=False).ids
        return ids


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])
