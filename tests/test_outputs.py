"""Answers put together from deltas, where nobody reads along."""

from __future__ import annotations

from pathlib import Path

import pytest

from yaie.errors import RequestError
from yaie.outputs import RequestAssembly
from yaie.text.tokenizer import load_tokenizer
from yaie.types import GenerationRequest, SamplingParams, TokenDelta


@pytest.mark.parametrize("stop", [(), ("no such text",)], ids=["whole", "as it comes"])
def test_what_was_drawn_before_another_sequence_failed_is_kept(
    tiny_model_dir: Path, stop: tuple[str, ...]
) -> None:
    """An error ends all sequences of a request; their tokens were computed, and count."""
    request = GenerationRequest(
        request_id="a",
        prompt_token_ids=(5, 6),
        sampling=SamplingParams(max_tokens=9, n=2, stop=stop),
    )
    assembly = RequestAssembly(request, None, load_tokenizer(tiny_model_dir))
    for token_id in (40, 41):
        assembly.collect(TokenDelta(request_id="a", index=1, token_ids=(token_id,)))
    assembly.collect(TokenDelta(request_id="a", index=0, token_ids=(42,)))
    assembly.collect(
        TokenDelta(request_id="a", index=0, finish_reason="error", error=RequestError("broken"))
    )
    output = assembly.output()
    assert [choice.token_ids for choice in output.choices] == [(42,), (40, 41)]
    assert [choice.finish_reason for choice in output.choices] == ["error", "error"]
    assert output.usage.completion_tokens == 3
