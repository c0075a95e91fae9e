"""Messages in any order of roles reach every template, and a growing chat keeps its prefix."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.text.published_shapes import (
    CHATML,
    FIRST_SYSTEM,
    GEMMA,
    LLAMA3,
    MISTRAL,
    QWEN35,
    SHAPES,
    SYSTEMS_FIRST,
)
from tests.text.small_tokenizers import CHAT_TEMPLATE, write_byte_level
from yaie.text.chat_template import ChatTemplate
from yaie.text.folding import fold
from yaie.text.plain_messages import Message, read_messages
from yaie.text.tokenizer import load_tokenizer
from yaie.text.turn_rules import TurnRules

Chat = Callable[[str], ChatTemplate]
ROLES = {"s": "system", "d": "developer", "u": "user", "a": "assistant", "t": "tool"}
NOTE = "<system_note>\n{}\n</system_note>"


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Chat:
    folder = write_byte_level(tmp_path_factory.mktemp("model"))

    def with_template(source: str) -> ChatTemplate:
        tokenizer = load_tokenizer(folder)
        tokenizer.hf.chat_template = source
        tokenizer.hf.bos_token = "<s>"
        return ChatTemplate(tokenizer)

    return with_template


def call(name: str, call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def turns(letters: str) -> list[dict[str, Any]]:
    """Return messages whose content tells their place; `c` is a call, `C` two."""
    messages: list[dict[str, Any]] = []
    for at, letter in enumerate(letters):
        if letter in "cC":
            calls = [call(f"tool{at}", f"call{at:05d}"), call(f"other{at}", f"also{at:05d}")]
            calls = calls[: 1 if letter == "c" else 2]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        else:
            messages.append({"role": ROLES[letter], "content": f"text{at}."})
            if letter == "t":
                is_second = letters[at - 1] == "t"
                messages[-1]["tool_call_id"] = f"{'also' if is_second else 'call'}{at - 1:05d}"
    return messages


@pytest.mark.parametrize(
    ("shape", "letters", "shown", "folds"),
    [
        (QWEN35, "su", "system\ntext0.|user\ntext1.|", ()),
        (QWEN35, "sdu", "system\ntext0.\n\ntext1.|user\ntext2.|", ("merged-system",)),
        (
            QWEN35,
            "us",
            f"user\ntext0.\n\n{NOTE.format('text1.')}|",
            ("system-as-user", "joined-turns"),
        ),
        (
            QWEN35,
            "suasu",
            "system\ntext0.|user\ntext1.|assistant\n<think>\n\n</think>\n\ntext2.|"
            f"user\n{NOTE.format('text3.')}\n\ntext4.|",
            ("system-as-user", "joined-turns"),
        ),
        (QWEN35, "uu", "user\ntext0.|user\ntext1.|", ()),
        (GEMMA, "su", "user\ntext0.\n\ntext1.|", ("system-as-user", "joined-turns")),
        (GEMMA, "sdu", "user\ntext0.\n\ntext1.\n\ntext2.|", ("system-as-user", "joined-turns")),
        (GEMMA, "uuaau", "user\ntext0.\n\ntext1.|model\ntext2.\n\ntext3.|user\ntext4.|",
         ("joined-turns",)),
        (GEMMA, "au", "user\nHello.|model\ntext0.|user\ntext1.|", ("added-turns",)),
        (
            GEMMA,
            "uad",
            f"user\ntext0.|model\ntext1.|user\n{NOTE.format('text2.')}|",
            ("system-as-user",),
        ),
        (
            CHATML,
            "usud",
            "system\nYou help.|user\ntext0.|system\ntext1.|user\ntext2.|system\ntext3.|",
            (),
        ),
        (CHAT_TEMPLATE, "sdus", "system\ntext0.|system\ntext1.|user\ntext2.|system\ntext3.|", ()),
    ],
)  # fmt: skip
def test_messages_reach_templates_of_turns(
    chat: Chat, shape: str, letters: str, shown: str, folds: tuple[str, ...]
) -> None:
    template = chat(shape)
    for _ in range(2):  # the second time the template is known
        prompt = template.make_prompt(turns(letters), add_generation_prompt=False)
        text = prompt.text.removeprefix("<s>")
        for mark, short in (
            ("<start_of_turn>", ""), ("<end_of_turn>\n", "|"),
            ("<|im_start|>", ""), ("<|im_end|>\n", "|"),
        ):  # fmt: skip
            text = text.replace(mark, short)
        assert (text, prompt.folds) == (shown, folds)


@pytest.mark.parametrize(
    ("letters", "shown", "folds"),
    [
        ("su", "[SYSTEM_PROMPT]text0.[/SYSTEM_PROMPT][INST]text1.[/INST]", ()),
        ("uau", "[INST]text0.[/INST] text1.<|im_end|>[INST]text2.[/INST]", ()),
        ("uu", "[INST]text0.\n\ntext1.[/INST]", ("joined-turns",)),
        (
            "uctu",
            '[INST]text0.[/INST][TOOL_CALLS][{"name": "tool1", "arguments": {}, "id": "call00001"}]'
            "<|im_end|>[TOOL_RESULTS]text2.[/TOOL_RESULTS] OK.<|im_end|>[INST]text3.[/INST]",
            ("added-turns",),
        ),
        (
            "sau",
            "[SYSTEM_PROMPT]text0.[/SYSTEM_PROMPT][INST]Hello.[/INST] text1.<|im_end|>"
            "[INST]text2.[/INST]",
            ("added-turns",),
        ),
    ],
)
def test_messages_reach_mistral(
    chat: Chat, letters: str, shown: str, folds: tuple[str, ...]
) -> None:
    prompt = chat(MISTRAL).make_prompt(turns(letters))
    assert (prompt.text.removeprefix("<s>"), prompt.folds) == (shown, folds)


def test_templates_that_lose_system_messages_without_an_error_get_notes(chat: Chat) -> None:
    prompt = chat(FIRST_SYSTEM).make_prompt(turns("sdus"))
    assert prompt.text == f"[S]text0.\n\ntext1.[U]text2.\n\n{NOTE.format('text3.')}"
    assert prompt.folds == ("merged-system", "system-as-user", "joined-turns")


@pytest.mark.parametrize("shape", [CHATML, LLAMA3, SYSTEMS_FIRST])
@pytest.mark.parametrize("letters", ["su", "ssu", "us", "suasu", "uu", "uaau", "au", "sau"])
def test_templates_that_take_all_get_all(chat: Chat, shape: str, letters: str) -> None:
    template = chat(shape)
    prompt = template.make_prompt(turns(letters))
    hf = template._tokenizer.hf
    plain = [
        {**each, "role": each["role"].replace("developer", "system")} for each in turns(letters)
    ]
    assert prompt.folds == ()
    assert prompt.text == hf.apply_chat_template(plain, tokenize=False, add_generation_prompt=True)


def test_calls_of_one_turn_are_split_for_llama_3(chat: Chat) -> None:
    messages = turns("uCtta")
    prompt = chat(LLAMA3).make_prompt(messages, add_generation_prompt=False)
    head, end = "<|start_header_id|>{}<|end_header_id|>\n\n", "<|eot_id|>"
    expected = [
        head.format("system"), head.format("user") + "text0.",
        head.format("assistant") + '{"name": "tool1", "parameters": {}}',
        head.format("ipython") + '"text2."',
        head.format("assistant") + '{"name": "other1", "parameters": {}}',
        head.format("ipython") + '"text3."', head.format("assistant") + "text4.",
    ]  # fmt: skip
    messages[3]["tool_call_id"] = "also00001"
    assert prompt.folds == ("split-calls",)
    assert prompt.text == "<s>" + "".join(each + end for each in expected)
    swapped = [*messages[:2], messages[3], messages[2], messages[4]]
    text = chat(LLAMA3).render_text(swapped)
    assert text.index("other1") < text.index("text3.") < text.index("tool1") < text.index("text2.")


def test_a_call_without_a_result_stays(chat: Chat) -> None:
    text = chat(LLAMA3).render_text(turns("uCtu"))
    assert text.index("tool1") < text.index("text2.") < text.index("other1") < text.index("text3.")
    assert "other1" in chat(LLAMA3).render_text(turns("uC"))
    assert chat(MISTRAL).make_prompt(turns("ucu")).folds == ("added-turns",)


@pytest.mark.parametrize("shape", SHAPES)
@given(letters=st.text("sduact", min_size=1, max_size=12))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_order_of_roles_is_shown(chat: Chat, shape: str, letters: str) -> None:
    letters = letters.replace("t", "").replace("c", "ct") + "u"
    if shape == "mistral":  # shows no text beside calls
        letters = re.sub("a+c", "c", letters)
    if shape == "gemma":
        letters = re.sub("[ct]", "", letters)
    text = chat(SHAPES[shape]).render_text(turns(letters))
    for at, letter in enumerate(letters):
        if letter not in "ct" or shape in ("qwen3.5", "mistral", "llama3"):
            assert (f"tool{at}" if letter == "c" else f"text{at}.") in text


RULES = st.builds(TurnRules, **dict.fromkeys(TurnRules.__dataclass_fields__, st.booleans()))


@given(letters=st.text("sduacC", min_size=2, max_size=14), rules=RULES, data=st.data())
@settings(max_examples=500, deadline=None)
def test_the_folding_of_a_beginning_is_the_beginning_of_the_folding(
    letters: str, rules: TurnRules, data: st.DataObject
) -> None:
    letters = letters.replace("C", "Ctt").replace("c", "ct")
    end = data.draw(st.integers(1, len(letters)))
    if letters[end - 1] in "cC" or letters[end - 1 : end + 1] == "tt":
        return  # a prompt ends with all results of a turn
    messages = read_messages(turns(letters))
    begun, _ = fold(messages[:end], rules)
    whole, _ = fold(messages, rules)
    _assert_begins(whole, begun)


def _assert_begins(whole: list[Message], begun: list[Message]) -> None:
    at = len(begun) - 1
    assert whole[:at] == begun[:at]
    last, same = begun[at], whole[at]
    assert same["role"] == last["role"]
    assert (same["content"] or "").startswith(last["content"] or "")
    calls = last.get("tool_calls", [])
    assert same.get("tool_calls", [])[: len(calls)] == calls
