"""Arguments of `LLM`: forms of prompts, checks, settings, defaults."""

from __future__ import annotations

import copy
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import yaie
from tests.llm.conftest import GREEDY, HELLO
from yaie import LLM, SamplingParams
from yaie.api.prompt_kinds import list_prompts
from yaie.base.errors import (
    ConfigError,
    ContextLengthExceeded,
    InvalidRequest,
    ModelNotFound,
    ModelUnsupported,
)
from yaie.text.tokenizer import load_tokenizer


def test_every_form_of_prompt_is_the_same_prompt(llm: LLM) -> None:
    text = "the lazy dog"
    ids = llm.get_tokenizer().encode(text)
    forms: list[Any] = [
        text,
        [text],
        ids,
        tuple(ids),
        [ids],
        torch.tensor(ids).numpy(),
        {"prompt": text},
        [{"prompt_token_ids": ids}],
        {"prompt": text, "prompt_token_ids": None},
        {"prompt": None, "prompt_token_ids": ids},
    ]
    outputs = [llm.generate(form, GREEDY) for form in forms]
    assert all(len(output) == 1 for output in outputs)
    assert len({output[0].token_ids for output in outputs}) == 1
    assert [output[0].prompt for output in outputs] == [
        text,
        text,
        *[None] * 4,
        text,
        None,
        text,
        None,
    ]


def test_a_list_of_arrays_is_a_list_of_prompts() -> None:
    five_six: Any = torch.tensor([5, 6])
    seven: Any = torch.tensor([7])
    several: Any = torch.tensor([[5, 6], [7, 8]])
    assert len(list_prompts([seven, seven])) == 2  # an array of one number has an __index__ too
    assert len(list_prompts([five_six.numpy(), seven.numpy()])) == 2
    assert len(list_prompts(several)) == 2
    for one in (five_six, five_six.numpy(), [five_six[0], 6], list(five_six.numpy()), (5, 6)):
        (prompt,) = list_prompts(one)
        assert [int(token_id) for token_id in prompt] == [5, 6]


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ([], "empty"),
        ("", "empty"),
        ([1, 420], "420"),
        ([-1], "-1"),
        pytest.param([10**5000], "too many digits", id="too many digits"),
        ([1.5], "integers"),
        (torch.tensor([1.5]), "integers"),
        ([torch.tensor([5])], "integers"),
        ({"prompt_token_ids": torch.tensor(5)}, "integers"),
        (None, "NoneType"),
        (7.5, "float"),
        ({"text": "a"}, "NoneType"),
        (b"abc", "bytes"),
        ({"prompt": bytearray(b"abc")}, "bytearray"),
        ("half \ud800", "surrogate"),
        ([5] * 2048, "2048"),
    ],
)
def test_a_wrong_prompt_is_named_before_any_runs(llm: LLM, prompt: Any, words: str) -> None:
    before = llm.stats
    with pytest.raises(InvalidRequest, match=words) as caught:
        llm.generate(["fine", "fine too", prompt], GREEDY)
    assert str(caught.value).startswith("prompt 2: ")
    assert caught.value.message == str(caught.value)
    with pytest.raises(InvalidRequest, match=words) as caught:
        llm.stream(prompt, GREEDY)  # at once, not at the first piece
    assert not str(caught.value).startswith("prompt 0")
    assert llm.stats == before


def test_wrong_arguments_are_explained(llm: LLM) -> None:
    with pytest.raises(InvalidRequest, match="1 sampling_params for 2 prompts"):
        llm.generate(["a", "b"], [GREEDY])
    for wrong in ("greedy", 3):
        name = type(wrong).__name__
        with pytest.raises(InvalidRequest, match=f"SamplingParams or a mapping, got {name}"):
            llm.generate("a", wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidRequest, match=f"SamplingParams or a mapping, got {name}"):
            llm.stream("a", wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidRequest, match=f"prompt 1: .* or a mapping, got {name}"):
            llm.generate(["a", "b"], [GREEDY, wrong])  # type: ignore[list-item]
    several: list[Any] = [["a"], ["a", "b"], [[5, 6]], [{"prompt": "a"}], [HELLO, HELLO]]
    for prompts in several:
        with pytest.raises(InvalidRequest, match="stream takes one prompt or one conversation"):
            llm.stream(prompts)
    with pytest.raises(InvalidRequest, match="text, token ids, or a list"):
        llm.generate(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="text, token ids, or a list of these, got bytes"):
        llm.generate(b"abc")
    with pytest.raises(InvalidRequest, match=r"prompt 1: messages\[0\]\.role"):
        llm.chat([HELLO, [{"role": "wizard", "content": "a"}]])
    with pytest.raises(InvalidRequest, match="list of messages"):
        llm.chat(["hello"])  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match=r"not text; give \[\{'role': 'user'"):
        llm.chat("hello")  # type: ignore[arg-type]
    with pytest.raises(ContextLengthExceeded, match="lower min_tokens to 1023"):
        llm.generate("a", SamplingParams(max_tokens=5000, min_tokens=1024))


def test_max_tokens_beyond_the_context_end_with_it(llm: LLM) -> None:
    (output,) = llm.generate([[5] * 1000], SamplingParams(max_tokens=5000, ignore_eos=True))
    assert (output.finish_reason, len(output.token_ids)) == ("length", 24)
    with pytest.raises(ContextLengthExceeded, match="the prompt has 1024 tokens"):
        llm.generate([[5] * 1024], SamplingParams(max_tokens=5000))


def test_settings_are_checked_and_a_misspelt_one_is_named(
    tiny_model_dir: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="did you mean num_slots"):
        LLM(tiny_model_dir, num_slot=5)
    with pytest.raises(ConfigError, match=r"^num_slots is .* whole number"):
        LLM(tiny_model_dir, num_slots="many")
    with pytest.raises(ConfigError, match="one of auto, float32"):
        LLM(tiny_model_dir, dtype="float8")
    with pytest.raises(ModelNotFound):
        LLM(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="model is empty"):
        LLM("")
    with pytest.raises(ConfigError, match="not NoneType"):
        LLM(None)  # type: ignore[arg-type]
    bare = tmp_path / "bare"
    shutil.copytree(tiny_model_dir, bare)
    (bare / "tokenizer.json").unlink()
    with pytest.raises(ModelUnsupported, match="tokenizer"):
        LLM(bare)
    with LLM(bare, tokenizer=tiny_model_dir, num_slots=512) as llm:
        assert llm.generate("the", GREEDY)[0].usage.completion_tokens == 12
    with LLM(bare, tokenizer=load_tokenizer(tiny_model_dir), num_slots=512) as llm:
        assert llm.generate("the", GREEDY)[0].usage.completion_tokens == 12


def test_the_models_recommended_sampling_is_the_default(
    tiny_model_dir: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "advised"
    shutil.copytree(tiny_model_dir, folder)
    advice = folder / "generation_config.json"
    advice.write_text(json.dumps({"temperature": 0.6, "top_k": 20, "top_p": 0.95}))
    with LLM(folder, num_slots=512) as llm:
        assert llm.default_sampling == SamplingParams(temperature=0.6, top_k=20, top_p=0.95)
    advice.write_text(json.dumps({"do_sample": False}))
    with LLM(folder, num_slots=512) as llm:
        assert llm.default_sampling.is_greedy
        assert llm.generate("the")[0].token_ids == llm.generate("the")[0].token_ids
    advice.write_text(json.dumps({"temperature": -3.0}))
    with LLM(folder, num_slots=512) as llm:
        assert llm.default_sampling == SamplingParams()
        assert "temperature" in caplog.text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cache_salt", [1]),
        ("priority", "high"),
        ("priority", 2**70),
        pytest.param("priority", 10**5000, id="too many digits"),
    ],
)
def test_a_salt_or_priority_of_a_wrong_type_is_refused(llm: LLM, name: str, value: Any) -> None:
    with pytest.raises(InvalidRequest, match=name) as refusal:
        llm.generate("a", **{name: value})
    assert refusal.value.param == name
    assert llm.generate("a", SamplingParams(max_tokens=1))[0].finish_reason == "length"


@pytest.mark.skipif(
    not (Path(yaie.__file__).parent / "models/builtin/model.safetensors").exists(),
    reason="this copy has no built-in model yet",
)
def test_the_builtin_model_is_the_default() -> None:
    with LLM(num_slots=2048) as llm:
        assert llm.info.model == "builtin"
        (output,) = llm.chat([{"role": "user", "content": "Who are you?"}])
        assert output.text.strip()
        assert output.finish_reason == "stop"


def test_a_misspelt_sampling_parameter_is_named() -> None:
    with pytest.raises(InvalidRequest, match="did you mean temperature") as refusal:
        SamplingParams(temp=3)  # type: ignore[call-arg]
    assert refusal.value.param == "temp"
    with pytest.raises(InvalidRequest, match=r"^zzz is not a sampling parameter$"):
        replace(SamplingParams(), zzz=1)  # type: ignore[call-arg]
    assert replace(SamplingParams(), seed=7) == copy.copy(SamplingParams(seed=7))


def test_its_repr_shows_the_loaded_model(llm: LLM) -> None:
    shown = f"LLM({llm.info.model!r}, dtype='float32', device='cpu', num_slots=4096)"
    assert repr(llm) == shown
