"""Grammars in the real engine process: compiled beside its steps, wrong ones refused alone."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.client.asking import collect, drawn, generate
from tests.client.test_real_engine import ask, running
from yaie.base.types import GenerationRequest, Grammar
from yaie.text.tokenizer import load_tokenizer

pytestmark = pytest.mark.integration

PET = Grammar.json_schema(
    {
        "type": "object",
        "properties": {"kind": {"enum": ["cat", "dog"]}, "good": {"type": "boolean"}},
        "required": ["kind", "good"],
        "additionalProperties": False,
    }
)


def under(grammar: Grammar, request_id: str) -> GenerationRequest:
    return replace(ask(request_id, max_tokens=100), grammar=grammar)


async def test_right_and_wrong_grammars_and_plain_requests_side_by_side(
    tiny_model_dir: Path,
) -> None:
    tokenizer = load_tokenizer(tiny_model_dir)
    wrong = Grammar(kind="lark", source="start: missing", param="some_field")
    async with running(tiny_model_dir) as client:
        await client.wait_ready(120)
        alone = await drawn(client, ask("alone", max_tokens=40))
        plain, answer, refused = await asyncio.gather(
            drawn(client, ask("plain", max_tokens=40)),
            drawn(client, under(PET, "right")),
            collect(client, under(wrong, "wrong")),
        )
        assert plain == alone
        assert set(json.loads(tokenizer.decode(answer))) == {"kind", "good"}
        (delta,) = refused
        assert delta.error is not None
        assert (delta.error.status, delta.error.param) == (400, "some_field")
        assert client.stats.forced_tokens > 0
        assert client.stats.num_failed == 1


async def test_an_idle_engine_notices_a_closed_request_while_it_compiles(
    tiny_model_dir: Path,
) -> None:
    async with running(tiny_model_dir) as client:
        await client.wait_ready(120)
        stream = generate(client, under(PET, "left"))
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)  # submitted
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await stream.aclose()
        assert await drawn(client, under(PET, "left"))  # the id is free again
        assert client.stats.num_running == client.stats.num_waiting == 0
