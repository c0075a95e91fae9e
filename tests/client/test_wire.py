"""Messages survive the wire however the bytes are cut, and noise does not."""

from __future__ import annotations

import itertools
from array import array
from dataclasses import replace
from typing import get_args

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given, settings

from tests.client.scripted_core import INFO
from yaie.base.cache_changes import BlocksCleared, BlocksRemoved, BlocksStored, CacheChange
from yaie.base.errors import (
    ConfigError,
    InvalidRequest,
    ModelNotFound,
    ModelUnsupported,
    NotEnoughMemory,
    RequestError,
    StartupError,
)
from yaie.base.queries import (
    Answer,
    Blocks,
    Branch,
    Branches,
    CacheDescription,
    Cause,
    DescribeCache,
    Eviction,
    EvictionReason,
    ExplainPrompt,
    Explanation,
    FlushCache,
    Flushed,
    HeldBranch,
    ListBlocks,
    ListBranches,
    Query,
)
from yaie.base.sampling_fields import Biases, Real, TokenIds, Whole
from yaie.base.setting_field import LARGEST_COUNT
from yaie.base.settings import LEAST_CONTEXT, EngineConfig
from yaie.base.stats import EngineStats, TenantStats, WaitStats, metrics
from yaie.base.types import (
    GenerationRequest,
    SamplingParams,
    Timings,
    TokenDelta,
    TokenLogprobs,
)
from yaie.client.engine_process import EngineProcess
from yaie.client.wire import (
    Abort,
    Ask,
    Deltas,
    Failed,
    QueryReply,
    Ready,
    Shutdown,
    StartEngine,
    Submit,
    ToChild,
    ToParent,
    child_reader,
    encode,
    parent_reader,
    split_prompt_logprobs,
)

ids = st.integers(0, 2**31)
counts = st.integers(0, 2**62)
floats = st.floats(allow_nan=False)
text = st.text(max_size=20)

samplings = st.builds(
    SamplingParams,
    n=st.integers(1, 128),
    max_tokens=st.none() | st.integers(1, 2**40),
    temperature=st.floats(0, 100) | st.integers(0, 100),
    top_p=st.floats(0.001, 1),
    top_k=st.integers(-1, 2**40),
    logit_bias=st.none() | st.dictionaries(ids, st.floats(-100, 100), max_size=4),
    seed=st.none() | st.integers(-(2**63), 2**63 - 1),
    stop=st.lists(st.text(min_size=1), max_size=3).map(tuple),
    stop_regex=st.lists(st.text(min_size=1), max_size=3).map(tuple),
    stop_token_ids=st.lists(ids, max_size=3).map(tuple),
    allowed_token_ids=st.none() | st.lists(ids, min_size=1, max_size=3).map(tuple),
    bad_words_token_ids=st.lists(st.lists(ids, min_size=1, max_size=3), max_size=2),
    ignore_eos=st.booleans(),
    logprobs=st.none() | st.integers(0, 20),
)
requests = st.builds(
    GenerationRequest,
    request_id=text,
    prompt_token_ids=st.lists(ids, max_size=50).map(tuple),
    sampling=samplings,
    owner=text,
    cache_salt=text,
    priority=st.integers(-(2**63), 2**63),
    queue_timeout_s=st.none() | floats,
    submission=counts,
)
logprobs = st.builds(
    TokenLogprobs,
    token_id=ids,
    logprob=floats,
    rank=counts,
    top=st.lists(st.tuples(ids, floats), max_size=3).map(tuple),
)
request_errors = st.builds(
    RequestError,
    message=text,
    status=st.integers(400, 599),
    code=st.none() | text,
    param=st.none() | text,
    retry_after_s=st.none() | floats,
)
deltas = st.builds(
    TokenDelta,
    request_id=text,
    submission=counts,
    index=st.integers(0, 127),
    token_ids=st.lists(ids, max_size=5).map(tuple),
    logprobs=st.lists(logprobs, max_size=3).map(tuple),
    finish_reason=st.sampled_from([None, "stop", "length", "abort", "error"]),
    stop_token_id=st.none() | ids,
    error=st.none() | request_errors,
    num_cached_tokens=counts,
    prompt_logprobs=st.none() | st.lists(st.none() | logprobs, max_size=3).map(tuple),
    timings=st.none() | st.builds(Timings, queued_s=floats, first_token_s=floats, total_s=floats),
)
known = EngineStats().values()
stats = st.builds(
    EngineStats,
    **{
        each.field: floats
        if each.field.endswith("_s")
        else (counts if each.field in known else st.none() | counts)
        for each in metrics()
    },
    waits=st.builds(
        WaitStats,
        counts=st.lists(counts, max_size=15).map(tuple),
        total_s=floats,
        tenants=st.lists(
            st.builds(
                TenantStats,
                tenant=text,
                num_waiting=counts,
                num_admitted=counts,
                mean_wait_s=floats,
                longest_wait_s=floats,
                tokens=counts,
            ),
            max_size=3,
        ).map(tuple),
    ),
)
configs = st.builds(
    EngineConfig,
    model=text.filter(str.strip),
    served_model_name=st.none() | text,
    dtype=st.sampled_from(["auto", "float32", "bfloat16", "float16"]),
    num_slots=st.none() | st.integers(LEAST_CONTEXT, LARGEST_COUNT),
    policy=st.sampled_from(["prefix-aware", "fcfs", "lpm", "priority"]),
    audit=st.booleans(),
    threads=st.none() | st.integers(1, 99),
)
queries: st.SearchStrategy[Query] = st.one_of(
    st.builds(
        ExplainPrompt,
        token_ids=st.lists(ids, max_size=9).map(tuple),
        owner=text,
        cache_salt=text,
        num_shown=counts,
    ),
    st.just(DescribeCache()),
    st.just(FlushCache()),
    st.builds(ListBlocks, limit=counts),
    st.builds(ListBranches, owner=text, cache_salt=text, limit=counts, num_shown=counts),
)
answers: st.SearchStrategy[Answer] = st.one_of(
    st.builds(
        Explanation,
        *(counts, counts, counts),
        cause=st.sampled_from([None, *get_args(Cause)]),
        clock=counts,
        held=st.lists(
            st.builds(HeldBranch, st.lists(ids, max_size=4).map(tuple), counts, counts), max_size=3
        ).map(tuple),
        eviction=st.none()
        | st.builds(Eviction, counts, counts, st.sampled_from(get_args(EvictionReason)), floats),
    ),
    st.builds(CacheDescription, *[counts] * len(CacheDescription.__struct_fields__)),
    st.builds(Flushed, counts, counts),
    st.builds(Blocks, st.binary(), counts, counts),
    st.builds(
        Branches,
        st.lists(
            st.builds(Branch, st.lists(ids, max_size=4).map(tuple), *[counts] * 7), max_size=3
        ).map(tuple),
        *(counts, counts, st.booleans()),
    ),
)
names = st.lists(st.integers(1, 2**64 - 1), min_size=1).map(lambda each: array("Q", each).tobytes())
changes: st.SearchStrategy[CacheChange] = st.one_of(
    st.builds(BlocksStored, names, st.none() | st.integers(1, 2**64 - 1), st.binary(), counts),
    st.builds(BlocksRemoved, names),
    st.just(BlocksCleared()),
)
to_child: st.SearchStrategy[ToChild] = st.one_of(
    st.builds(
        StartEngine,
        config=configs,
        log_level=st.integers(0, 1000),
        log_format=st.sampled_from(["text", "json"]),
    ),
    requests.map(Submit.pack),
    st.builds(Abort, request_id=text, index=st.none() | st.integers(0, 127)),
    st.builds(Ask, number=counts, query=queries),
    st.just(Shutdown()),
)
to_parent: st.SearchStrategy[ToParent] = st.one_of(
    st.builds(Ready, info=st.just(INFO), stats=stats),
    st.builds(
        Failed, kind=text, message=text, exit_code=st.integers(0, 255), param=st.none() | text
    ),
    st.builds(
        Deltas,
        deltas=st.lists(deltas, max_size=5),
        stats=st.none() | stats,
        cache_changes=st.lists(changes, max_size=3).map(tuple),
    ),
    st.builds(
        QueryReply, number=counts, answer=st.none() | answers, error=st.none() | request_errors
    ),
)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges)]


@given(st.lists(to_child, max_size=5), st.lists(st.integers(0, 10**6), max_size=8))
def test_messages_to_the_child_arrive_as_they_were_sent(
    messages: list[ToChild], places: list[int]
) -> None:
    reader = child_reader()
    pieces = cut(b"".join(map(encode, messages)), places)
    assert [message for piece in pieces for message in reader.feed(piece)] == messages


@pytest.mark.integration
@given(st.lists(to_parent, max_size=5), st.lists(st.integers(0, 10**6), max_size=8))
def test_messages_to_the_parent_arrive_as_they_were_sent(
    messages: list[ToParent], places: list[int]
) -> None:
    reader = parent_reader()
    pieces = cut(b"".join(map(encode, messages)), places)
    assert [message for piece in pieces for message in reader.feed(piece)] == messages


@given(requests)
def test_requests_survive_the_wire(request: GenerationRequest) -> None:
    (submit,) = child_reader().feed(encode(Submit.pack(request)))
    assert submit.unpack() == request  # type: ignore[arg-type]


def test_a_list_in_place_of_a_tuple_arrives_as_a_tuple() -> None:
    request = GenerationRequest(request_id="a", prompt_token_ids=[1, 2])  # type: ignore[arg-type]
    (submit,) = child_reader().feed(encode(Submit.pack(request)))
    assert submit.unpack().prompt_token_ids == (1, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "request_",
    [
        GenerationRequest(request_id="a", prompt_token_ids=(2**64,)),
        GenerationRequest(request_id="a", prompt_token_ids=(object(),)),  # type: ignore[arg-type]
        GenerationRequest(request_id="\ud800", prompt_token_ids=(1,)),
        GenerationRequest(request_id=None, prompt_token_ids=(1,)),  # type: ignore[arg-type]
        GenerationRequest(request_id="a", prompt_token_ids=(1,), priority=2**70),
    ],
)
def test_a_value_that_cannot_be_sent_is_refused_first(request_: GenerationRequest) -> None:
    with pytest.raises(InvalidRequest):
        Submit.pack(request_)


def test_a_malformed_request_is_no_malformed_message() -> None:
    bad = GenerationRequest(request_id="a", prompt_token_ids="xy", submission=7)  # type: ignore[arg-type]
    (submit,) = child_reader().feed(encode(Submit.pack(bad)))
    assert (submit.request_id, submit.submission) == ("a", 7)  # type: ignore[union-attr]
    with pytest.raises(InvalidRequest, match="malformed"):
        submit.unpack()  # type: ignore[arg-type]
    with pytest.raises(msgspec.DecodeError):
        list(child_reader().feed((3).to_bytes(4, "big") + b"abc"))


@pytest.mark.integration
@given(st.binary(max_size=200))
def test_noise_raises_a_decode_error(noise: bytes) -> None:
    frame = len(noise).to_bytes(4, "big") + noise
    with pytest.raises(msgspec.DecodeError):
        list(parent_reader().feed(frame))


@pytest.mark.parametrize(
    "kind", [StartupError, ConfigError, ModelNotFound, ModelUnsupported, NotEnoughMemory]
)
def test_a_failure_is_the_same_error_on_the_other_side(kind: type[StartupError]) -> None:
    error = kind("because", param="model")
    sent = Failed(type(error).__name__, error.message, error.exit_code, error.param)
    (got,) = parent_reader().feed(encode(sent))
    assert isinstance(got, Failed)
    back = got.error()
    assert type(back) is kind
    assert (back.message, back.param) == ("because", "model")


@pytest.mark.parametrize("kind", ["RuntimeError", "InvalidRequest", "annotations", ""])
def test_an_unknown_kind_of_failure_is_a_startup_error(kind: str) -> None:
    assert type(Failed(kind, "because", 1).error()) is StartupError


def logprobs_of(length: int, num_top: int = 20) -> tuple[TokenLogprobs | None, ...]:
    scored = [
        TokenLogprobs(
            token_id=number,
            logprob=-1.5,
            rank=2,
            top=tuple((100_000 + other, -0.5) for other in range(num_top)),
        )
        for number in range(1, length)
    ]
    return (None, *scored)


@given(
    st.lists(st.none() | st.integers(1, 700), max_size=5),
    st.lists(st.integers(0, 10**6), max_size=8),
)
@settings(deadline=None, max_examples=30)
def test_prompt_logprobs_are_split_and_joined_again(
    lengths: list[int | None], places: list[int]
) -> None:
    sent = [
        TokenDelta(
            request_id=f"r{number}",
            index=0,
            token_ids=(number,),
            prompt_logprobs=None if length is None else logprobs_of(length, number),
        )
        for number, length in enumerate(lengths)
    ]
    first, second = Deltas(sent, EngineStats(num_steps=1)), Deltas([], EngineStats(num_steps=2))
    frames = [
        encode(part) for message in (first, second) for part in split_prompt_logprobs(message)
    ]
    got: list[ToParent] = []
    process = EngineProcess(got.append)
    for piece in cut(b"".join(frames), places):
        process.data_received(piece)
    assert got == [first, second]


def test_every_frame_of_a_long_prompt_is_small() -> None:
    delta = TokenDelta(request_id="r", index=0, prompt_logprobs=logprobs_of(5000))
    frames = [encode(part) for part in split_prompt_logprobs(Deltas([delta], EngineStats()))]
    assert max(map(len, frames)) < 100_000 < sum(map(len, frames))


def test_sampling_is_checked_where_it_is_made_and_trusted_where_it_is_received(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request = GenerationRequest(
        request_id="one",
        prompt_token_ids=(1, 2),
        sampling=SamplingParams(n=2, stop_token_ids=[3], logit_bias={4: 1}),
    )
    submit = Submit.pack(request)
    checked: list[str] = []
    for kind in (Whole, Real, TokenIds, Biases):
        monkeypatch.setattr(kind, "convert", lambda self, name, value: checked.append(name))
    assert submit.unpack() == request
    assert not checked
    replace(request.sampling, n=1)
    assert "n" in checked
