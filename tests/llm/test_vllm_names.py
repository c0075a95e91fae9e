"""Names of vLLM's `LLM`: what they do, and how wrong values are told."""

from __future__ import annotations

import asyncio
import functools
import io
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tqdm import tqdm  # type: ignore[import-untyped]

from tests.llm.conftest import GREEDY, HELLO
from yaie import LLM, AsyncLLM, Grammar, SamplingParams
from yaie.base.errors import InvalidRequest, TemplateTooCostly, UnsupportedParameter
from yaie.base.types import SAMPLING_FIELDS


def test_parameters_may_be_mappings_everywhere(llm: LLM) -> None:
    plain = {"temperature": 0.0, "max_tokens": 12, "ignore_eos": True}
    expected = llm.generate(["A quick", "the lazy"], GREEDY)
    assert expected == _same_ids(llm.generate(["A quick", "the lazy"], plain), expected)
    assert expected == _same_ids(llm.generate(["A quick", "the lazy"], [plain, GREEDY]), expected)
    (chat,) = llm.chat(HELLO, plain)
    assert chat.token_ids == llm.chat(HELLO, GREEDY)[0].token_ids
    streamed = [i for piece in llm.stream("A quick", plain) for i in piece.token_ids]
    assert tuple(streamed) == expected[0].token_ids

    async def ask() -> list[tuple[int, ...]]:
        engine = AsyncLLM.over(llm)
        generated = await engine.generate(["A quick"], plain)
        answered = await engine.chat(HELLO, [plain])
        assert await engine.reset_prefix_cache()
        return [generated[0].token_ids, answered[0].token_ids]

    assert asyncio.run(ask()) == [expected[0].token_ids, chat.token_ids]
    with pytest.raises(InvalidRequest, match=r"prompt 1: temprature is not .* temperature"):
        llm.generate(["a", "b"], [GREEDY, {"temprature": 0}])


def test_sleep_says_what_frees_memory(llm: LLM) -> None:
    with pytest.raises(UnsupportedParameter, match=r"close\(\) frees .* reset_prefix_cache\(\)"):
        llm.sleep(level=1)
    llm.wake_up(tags=["weights"])
    assert llm.generate(["A quick"], GREEDY)[0].token_ids


def _same_ids(outputs: list[Any], expected: list[Any]) -> list[Any]:
    """Return `expected` if the outputs have its tokens."""
    same = [output.token_ids for output in outputs] == [each.token_ids for each in expected]
    return expected if same else outputs


def test_a_request_keeps_the_parameters_that_it_began_with(llm: LLM) -> None:
    sampling = SamplingParams(temperature=0.0, max_tokens=6, ignore_eos=True)
    stream = llm.stream("A quick", sampling)
    sampling.max_tokens = 1
    assert sum(len(piece.token_ids) for piece in stream) == 6


def test_fields_are_checked_when_they_are_set() -> None:
    sampling = SamplingParams()
    sampling.stop = "."  # type: ignore[assignment]
    assert sampling.stop == (".",)
    for name, value in (("temperature", -1), ("n", "2"), ("min_tokens", 17), ("maxtokens", 3)):
        before = SamplingParams(**{each: getattr(sampling, each) for each in SAMPLING_FIELDS})
        with pytest.raises(InvalidRequest, match=name):
            setattr(sampling, name, value)
        assert sampling == before


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("guided_decoding", "use structured_outputs"),
        ("best_of", "use n, and choose by logprobs"),
        ("max_new_tokens", "use max_tokens"),
    ],
)
def test_parameters_under_other_names_are_answered_with_ours(name: str, advice: str) -> None:
    with pytest.raises(InvalidRequest, match=f"{name} is not a sampling parameter; {advice}"):
        SamplingParams(**{name: 2})  # type: ignore[arg-type]


def test_wrong_constraints_are_named_before_anything_runs(llm: LLM) -> None:
    before = llm.stats
    for wrong, words in (
        ({"regexp": "a"}, r"structured_outputs\.regexp is not supported"),
        ({"regex": "a", "choice": ["b"]}, "regex and choice"),
        ({"choice": []}, r"structured_outputs\.choice must be a non-empty list"),
        ({"regex": "("}, "regex"),
    ):
        with pytest.raises(InvalidRequest, match=words):
            llm.generate("a", {"structured_outputs": wrong})
    with pytest.raises(InvalidRequest, match="must be StructuredOutputsParams or a mapping"):
        SamplingParams(structured_outputs="json")  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="both constrain"):
        llm.generate("a", {"structured_outputs": {"regex": "a"}}, grammar=Grammar.regex("a"))
    with pytest.raises(InvalidRequest, match=r"Grammar.choice\(\['yes', 'no'\]\)"):
        llm.generate("a", grammar=["yes", "no"])  # type: ignore[list-item]
    assert llm.stats == before


def test_a_chat_may_continue_its_last_message(llm: LLM) -> None:
    prefix = {"role": "assistant", "content": "The lazy"}
    (continued,) = llm.chat([*HELLO, prefix], GREEDY, continue_final_message=True)
    assert continued.prompt is not None and continued.prompt.endswith("The lazy")
    (same,) = llm.chat(
        [*HELLO, prefix], GREEDY, continue_final_message=True, add_generation_prompt=False
    )
    assert same.prompt == continued.prompt
    (opened,) = llm.chat(HELLO, GREEDY)
    (bare,) = llm.chat(HELLO, GREEDY, add_generation_prompt=False)
    assert opened.prompt is not None and bare.prompt is not None
    assert opened.prompt.startswith(bare.prompt) and opened.prompt != bare.prompt
    with pytest.raises(InvalidRequest, match="exclude each other"):
        llm.chat([*HELLO, prefix], continue_final_message=True, add_generation_prompt=True)
    with pytest.raises(InvalidRequest, match="chat_template must be a Jinja template as text"):
        llm.chat(HELLO, chat_template="chatml.jinja")
    with pytest.raises(InvalidRequest, match="template is broken"):
        llm.chat(HELLO, chat_template="{% for %}")
    with pytest.raises(TemplateTooCostly, match="64 MiB of memory"):
        llm.chat(HELLO, chat_template="{{ 'x' * 10**10 }}")
    assert llm.chat(HELLO, GREEDY)[0].prompt == opened.prompt  # the model's is as it was


def test_a_function_makes_the_bar(llm: LLM) -> None:
    shown = io.StringIO()
    make = functools.partial(tqdm, file=shown, mininterval=0)
    llm.generate(["a", "b", "c"], GREEDY, use_tqdm=make)
    assert "Processed prompts" in shown.getvalue()
    assert "3/3" in shown.getvalue() and "toks/s" in shown.getvalue()


def test_a_notebook_shows_a_bar(
    llm: LLM, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = ModuleType("IPython")  # its kernel is no dependency
    shell = SimpleNamespace(config={"IPKernelApp": {}})
    kernel.get_ipython = lambda: shell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    llm.chat([HELLO] * 8, GREEDY)
    assert "8/8" in capsys.readouterr().err
    llm.chat([HELLO] * 8, GREEDY, use_tqdm=False)
    shell.config = {}  # IPython on a terminal, here on a pipe
    llm.chat([HELLO] * 8, GREEDY)
    assert capsys.readouterr().err == ""
