"""`python -m benchmarks chats`: families of templates, their known prompts, and real servers."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import run_command_line
from benchmarks.growing_chats import measure as bench
from benchmarks.growing_chats.command import chat_lines
from benchmarks.growing_chats.families import FAMILIES, write_model
from benchmarks.growing_chats.measure import ChatWorkload, Figures, measure_chats
from yaie.base.errors import InvalidRequest
from yaie.text.chat_template import ChatTemplate
from yaie.text.formats.output_format import detect_format
from yaie.text.next_turn import answer_message, known_prompts
from yaie.text.output_parts import Part, ReasoningPart, TextPart, ToolCallPart
from yaie.text.tokenizer import load_tokenizer

FORMS = {"qwen3": "hermes", "llama3": "llama", "mistral": "mistral", "chatml": "hermes"}


@pytest.fixture(scope="module", params=list(FAMILIES))
def chat(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ChatTemplate:
    """Template of a family, on the built-in model's tokenizer."""
    folder = tmp_path_factory.mktemp("family") / request.param
    found = ChatTemplate(load_tokenizer(write_model(request.param, folder)))
    form = detect_format(found.source)
    assert form.syntax is not None
    assert form.syntax.name == FORMS[request.param]
    assert form.thinking is not None
    return found


def test_marks_are_tokens_and_the_vocabulary_keeps_its_size(chat: ChatTemplate) -> None:
    tokenizer = chat._tokenizer
    assert tokenizer.vocab_size == 2048
    family = FAMILIES[tokenizer.path.name]
    marks = {*family.marks, *family.hidden, family.begin, family.end}
    assert marks <= set(tokenizer.marker_ids)
    assert tokenizer.marker_ids[family.end] == tokenizer.eos_token_id == 2
    text = "".join(sorted(marks)) + "Ein paar Wörter, and pre-empted repositories 🙂"
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert tokenizer.decode(ids, skip_special_tokens=False) == text
    assert len(tokenizer.encode("".join(marks), add_special_tokens=False)) == len(marks)


def some_text(rng: random.Random) -> str:
    parts = ("the ", "tree", " plan", "\n\n", "🙂", "é", "{", '"', "  ", "Zz", "0", "xxxxx", ".")
    return "".join(rng.choices(parts, k=rng.randint(1, 12)))


def an_answer(rng: random.Random, *, calls: bool) -> list[Part]:
    """Return the parts of an answer; a call has an id of 9 characters, as Mistral's."""
    parts: list[Part] = []
    if rng.random() < 0.5:
        parts.append(ReasoningPart(some_text(rng)))
    if calls:
        parts += [
            ToolCallPart(
                at,
                "get_weather",
                rng.choice(['{"place":"x"}', '{"days": 2,  "place": "é"}', "{broken", "[1]"]),
                f"call0000{at}",
            )
            for at in range(rng.randint(1, 2))
        ]
    else:
        parts.append(TextPart(some_text(rng)))
    return parts


@pytest.mark.parametrize("seed", range(8))
def test_the_known_part_begins_the_next_prompt(chat: ChatTemplate, seed: int) -> None:
    """The next prompt begins with it, and its new text is all that follows for any other cache."""
    rng = random.Random(seed)
    tools = bench._TOOLS if seed % 2 else None
    options = {"enable_thinking": seed % 4 > 1}
    messages: list[dict[str, Any]] = [{"role": "system", "content": some_text(rng)}]
    results: list[dict[str, Any]] = []
    sends_reasoning = rng.random() < 0.5

    def render(conversation: list[dict[str, Any]]) -> list[int]:
        return chat.render(conversation, tools, template_kwargs=options)

    for turn in range(4):
        messages += [*results, {"role": "user", "content": some_text(rng)}]
        answer = answer_message(an_answer(rng, calls=tools is not None and turn % 2 == 0))
        known = known_prompts(messages, [answer], render)
        if not sends_reasoning:
            answer.pop("reasoning_content", None)
        messages.append(answer)
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": "word " + some_text(rng)}
            for call in answer.get("tool_calls", ())
        ]
        new = results or [{"role": "user", "content": "word " + some_text(rng)}]
        prompt, other = (
            render([*messages, *({**each, "content": each["content"][at:] or "a"} for each in new)])
            for at in (0, 5)
        )
        found = [ids for ids in known if prompt[: len(ids)] == ids]
        assert found, chat._tokenizer.decode(known[0], False)
        # No token before the new text is left out.
        assert max(map(len, found)) >= bench._common_length(prompt, other) - 1


def test_figures() -> None:
    figures = Figures()
    figures.add(100, 100)
    figures.add(200, 230)  # the new message began like a cached one
    figures.add(100, 50)
    report = figures.report()
    assert report["share"] == pytest.approx(350 / 400)
    assert report["least_share"] == 0.5
    assert report["requests"] == 3


@pytest.mark.parametrize("wrong", [{"turns": 1}, {"answer": 0}, {"thought": 0}])
def test_an_empty_workload_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidRequest, match=next(iter(wrong))):
        ChatWorkload(**wrong)  # type: ignore[arg-type]


def test_unknown_families_and_numbers_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["chats", "--families", "gpt"]) == 2
    assert "choose from qwen3, llama3, mistral, chatml" in capsys.readouterr().err
    assert run_command_line(["chats", "--temperatures", "hot"]) == 2
    assert "--temperatures is 'hot'" in capsys.readouterr().err


def test_the_table_has_a_line_for_each_conversation() -> None:
    figures = Figures(known=100, cached=99, shares=[0.98, 1.0], idle_rows=1234, idle_s=[0.25])
    side = figures.report()
    about = {"family": "a-long-name-of-a-model", "tools": True, "thinking": False}
    report = {
        "conversations": [{**about, "temperature": 2.0, "off": side, "on": side}],
        "summary": {"share_off": 0.5, "share_on": 0.99, "is_met": False},
        "goal": 0.99,
    }
    header, line, last = chat_lines(report)
    assert len(header) == len(line)
    assert line.split() == [
        "e-of-a-model", "yes", "no", "2", "99.00%", "99.00%", "98.00%", "1,234", "0.25",
    ]  # fmt: skip
    assert last.endswith("(goal: 99% in each conversation, NOT met)")


@pytest.mark.slow
def test_a_next_turn_hits_on_a_real_server() -> None:
    workload = ChatWorkload(turns=3, temperatures=(2.0,), with_thinking=(True,))
    report = measure_chats({"threads": 1, "num_slots": 8192}, workload, families=["mistral"])
    for row in report["conversations"]:
        assert row["off"]["share"] < 0.9
        assert row["on"]["share"] >= bench.GOAL
        assert row["on"]["idle_rows"] > 0 == row["off"]["idle_rows"]
    assert report["summary"]["is_met"]
    assert json.loads(json.dumps(report))["workload"]["turns"] == 3
    header, *lines, last = chat_lines(report)
    assert len(lines) == 2
    assert len(header) == len(lines[0])
    assert "met" in last


@pytest.mark.slow
@pytest.mark.parametrize("family", list(FAMILIES))
def test_ten_turns_of_each_kind(family: str, tmp_path: Path) -> None:
    settings = {"threads": 1, "num_slots": 16_384, "audit": True}
    report = measure_chats(settings, ChatWorkload(), families=[family])
    assert len(report["conversations"]) == 12
    for row in report["conversations"]:
        assert row["on"]["share"] >= bench.GOAL, row
