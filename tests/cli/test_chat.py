"""The chat: slash commands, turns and the conversation they leave."""

from __future__ import annotations

import io
import json
from collections.abc import Generator
from pathlib import Path
from typing import ClassVar

import pytest

from yaie.base.advised_error import AdvisedError
from yaie.base.errors import EngineDied, YaieError
from yaie.base.types import Grammar, Usage
from yaie.cli.answers import AnswerStream, FinishedAnswer, Question
from yaie.cli.chat import answer_turn, converse, read_turn, take_turn
from yaie.cli.chat_commands import ChatState, Leave, complete, obey
from yaie.cli.local import ModelAnswers
from yaie.cli.sampling_options import SamplingOptions

USER = {"role": "user", "content": "one"}
ASSISTANT = {"role": "assistant", "content": "ONE"}


def piped(text: str | bytes) -> io.TextIOWrapper:
    """Standard input from a pipe."""
    data = text if isinstance(text, bytes) else text.encode()
    return io.TextIOWrapper(io.BytesIO(data), encoding="ascii", errors="strict")


class LoudAnswers:
    """Answers a question with itself in capitals, in single characters, and keeps questions."""

    name = "loud"
    sampling: ClassVar[dict[str, float]] = {"temperature": 0.7, "top_p": 0.9}

    def __init__(self, fails_after: int | None = None, error: BaseException | None = None) -> None:
        self.asked: list[Question] = []
        self.closed: list[str] = []
        self._fails_after, self._error = fails_after, error

    def stream(
        self, question: Question, options: SamplingOptions, grammar: Grammar | None = None
    ) -> AnswerStream:
        self.asked.append(question)
        return AnswerStream(self._pieces(question))

    def _pieces(self, question: Question) -> Generator[str, None, FinishedAnswer]:
        text = question[-1]["content"].upper() if isinstance(question, list) else question
        said = ""
        try:
            for number, letter in enumerate(text):
                if number == self._fails_after and self._error is not None:
                    raise self._error
                said += letter
                yield letter
        finally:
            self.closed.append(said)
        return FinishedAnswer(
            text=text,
            finish_reason="stop",
            usage=Usage(prompt_tokens=1, completion_tokens=len(text), cached_tokens=0),
            first_token_s=0.1,
            total_s=0.2,
            model="loud",
            place="here",
        )

    def models(self) -> list[str]:
        return ["loud", "louder"]

    def use_model(self, name: str) -> None:
        self.name = name

    def settle(self) -> None:
        pass

    def close(self) -> None:
        pass


def run(line: str, state: ChatState) -> bool:
    return obey(line, state, LoudAnswers())


@pytest.fixture
def state() -> ChatState:
    return ChatState(options=SamplingOptions(max_tokens=512, shrinks_to_fit=True))


def test_a_turn_shows_the_model_all_turns_before_it(
    state: ChatState, capsys: pytest.CaptureFixture[str]
) -> None:
    source = LoudAnswers()
    state.system = "be loud"
    for text in ("one", "two"):
        assert take_turn(text, state, source)
        answer_turn(source, state)
    assert capsys.readouterr().out == "ONE\nTWO\n"
    system = {"role": "system", "content": "be loud"}
    assert source.asked[1] == [system, USER, ASSISTANT, {"role": "user", "content": "two"}]


def test_ctrl_c_keeps_what_was_said_and_ends_the_answer(state: ChatState) -> None:
    source = LoudAnswers(fails_after=2, error=KeyboardInterrupt())
    take_turn("stop me", state, source)
    answer_turn(source, state)
    assert state.turns[-1] == {"role": "assistant", "content": "ST"}
    assert source.closed == ["ST"]


def test_a_question_that_failed_is_taken_back(state: ChatState) -> None:
    source = LoudAnswers(fails_after=1, error=EngineDied("gone"))
    take_turn("one", state, source)
    with pytest.raises(EngineDied):
        answer_turn(source, state)
    assert state.turns == []


def test_regen_and_undo(state: ChatState) -> None:
    state.turns = [dict(USER), dict(ASSISTANT)]
    assert run("/regen", state)
    assert state.turns == [USER]
    assert not run("/undo", state)
    assert state.turns == []
    for command in ("/regen", "/undo"):
        with pytest.raises(YaieError, match="no question yet"):
            run(command, state)


def test_set_changes_one_option_and_refuses_nonsense(state: ChatState) -> None:
    run("/set temperature=0.5", state)
    run("/set max-tokens = 1k", state)
    run("/set stop=END", state)
    assert state.options.given() == {"max_tokens": 1000, "temperature": 0.5, "stop": ["END"]}
    assert not state.options.shrinks_to_fit
    run("/set top_k 7", state)
    assert state.options.top_k == 7
    run("/set temperature=", state)
    assert state.options.temperature is None
    before = state.options
    for wrong in ("temperature=hot", "colour=red", "top_p=7", "max_tokens=8q", "max_tokens=0"):
        with pytest.raises(YaieError):
            run(f"/set {wrong}", state)
    assert state.options == before


def test_set_takes_every_penalty_and_shows_the_defaults(
    state: ChatState, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    monkeypatch.setattr("yaie.cli.terminal.note", notes.append)
    values: dict[str, float] = {"min_p": 0.05, "repetition_penalty": 1.1, "presence_penalty": 0.5}
    values |= {"frequency_penalty": -0.5, "top_k": 40, "seed": 7}
    for name, value in values.items():
        run(f"/set {name}={value}", state)
    assert state.options.given() == {"max_tokens": 512} | values
    run("/set temperature=0.3", state)
    run("/set", state)
    assert notes[-1].startswith("max_tokens=512, temperature=0.3")
    assert notes[-1].endswith("top_p=0.9 (default)")
    run("/set temperature=", state)
    assert notes[-1] == "temperature: 0.7"
    for wrong in ("min_p=2", "repetition_penalty=0", "presence_penalty=3"):
        with pytest.raises(YaieError):
            run(f"/set {wrong}", state)


def test_a_file_goes_before_the_next_question_only(state: ChatState, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("the notes", encoding="utf-8")
    run(f"/file {tmp_path / 'notes.md'}", state)
    state.say("what do they say?")
    state.remember("nothing", None)
    state.say("and now?")
    assert [turn["content"] for turn in state.turns] == [
        "the notes\n\nwhat do they say?",
        "nothing",
        "and now?",
    ]
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name in ("missing", "bytes"):
        with pytest.raises(YaieError, match=name):
            run(f"/file {tmp_path / name}", state)


def test_turns_alternate_after_a_stop_before_the_first_word(state: ChatState) -> None:
    state.say("wrong")
    state.remember("", None)
    state.say("right")
    assert [turn["content"] for turn in state.turns] == ["right"]


def test_a_file_waits_for_the_next_question_when_one_fails(
    state: ChatState, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("the notes", encoding="utf-8")
    run(f"/file {tmp_path / 'notes.md'}", state)
    state.say("what do they say?")
    with pytest.raises(EngineDied):
        answer_turn(LoudAnswers(fails_after=0, error=EngineDied("it died")), state)
    assert state.turns == []
    state.say("once more: what do they say?")
    assert state.turns[0]["content"].startswith("the notes")


def test_a_saved_chat_can_be_loaded(state: ChatState, tmp_path: Path) -> None:
    saved = tmp_path / "chat.json"
    state.system, state.turns = "be nice", [dict(USER), dict(ASSISTANT)]
    run(f"/save {saved}", state)
    run("/clear", state)
    assert state.turns == []
    state.system = None
    run(f"/load {saved}", state)
    assert (state.system, state.turns) == ("be nice", [USER, ASSISTANT])
    for wrong in ("[]", "no json", json.dumps({"system": None, "turns": [{"role": "user"}]})):
        saved.write_text(wrong, encoding="utf-8")
        with pytest.raises(YaieError, match="not a saved chat"):
            run(f"/load {saved}", state)
    assert state.turns == [USER, ASSISTANT]


def test_commands_that_do_not_exist_are_refused(state: ChatState) -> None:
    with pytest.raises(YaieError, match="no command /nope"):
        run("/nope", state)
    with pytest.raises(Leave):
        run("/exit", state)


def test_help_names_every_command(state: ChatState, capsys: pytest.CaptureFixture[str]) -> None:
    run("/help", state)
    shown = capsys.readouterr().err
    names = "help clear system model regen undo set file save load stats exit"
    assert all(f"/{name}" in shown for name in names.split())


def test_model_shows_and_changes_the_model(
    state: ChatState, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    monkeypatch.setattr("yaie.cli.terminal.note", notes.append)
    source = LoudAnswers()
    obey("/model", state, source)
    obey("/model louder", state, source)
    assert notes == ["loud; to choose from: loud, louder", "louder; to choose from: loud, louder"]


@pytest.mark.parametrize(
    ("line", "completions"),
    [
        ("/hel", ["/help"]),
        ("/s", ["/system", "/set", "/save", "/stats"]),
        ("/set t", ["/set temperature=", "/set top_p=", "/set top_k="]),
        ("/set m", ["/set max_tokens=", "/set min_p="]),
        ("hel", []),
        ("/nope", []),
    ],
)
def test_tab_completes_commands(line: str, completions: list[str]) -> None:
    assert complete(line) == completions


def test_a_failed_save_advises_another_path(state: ChatState, tmp_path: Path) -> None:
    with pytest.raises(AdvisedError, match="cannot write") as failure:
        run(f"/save {tmp_path}", state)
    assert failure.value.advice == "another path"


def test_triple_quotes_make_one_turn_of_several_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", piped('"""first\n/second\nthird"""\nnext\n'))
    assert read_turn(is_interactive=False).text == "first\n/second\nthird"
    assert read_turn(is_interactive=False).text == "next"
    with pytest.raises(EOFError):
        read_turn(is_interactive=False)


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ('"""first\nsecond\n', "first\nsecond"),
        ('"""first\nsecond', "first\nsecond"),
        ('"""first', "first"),
        ('"""', ""),
    ],
)
def test_the_end_of_piped_input_closes_quotes(
    typed: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", piped(typed))
    assert read_turn(is_interactive=False).text == text
    with pytest.raises(EOFError):
        read_turn(is_interactive=False)


def test_text_in_quotes_is_no_command(
    state: ChatState, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", piped('"""/undo it all"""\n'))
    converse(LoudAnswers(), state, is_interactive=False)
    assert capsys.readouterr().out == "/UNDO IT ALL\n"


def test_piped_lines_are_turns_until_the_input_ends(
    state: ChatState, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", piped("one\n\n/undo\ntwo\n"))
    converse(LoudAnswers(), state, is_interactive=False)
    assert capsys.readouterr().out == "ONE\nTWO\n"
    assert [turn["content"] for turn in state.turns] == ["two", "TWO"]


def test_turns_before_undecodable_input_are_answered(
    state: ChatState, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", piped("déjà\n".encode() + b"d\xe9j\xe0 vu\nagain\n"))
    with pytest.raises(AdvisedError, match="not UTF-8") as caught:
        converse(LoudAnswers(), state, is_interactive=False)
    assert caught.value.exit_code == 2
    assert capsys.readouterr().out == "DÉJÀ\n"


def test_without_a_limit_an_answer_may_fill_the_context(
    state: ChatState, tiny_model_dir: Path
) -> None:
    source = ModelAnswers(
        {"model": str(tiny_model_dir), "num_slots": 256, "max_model_len": 128, "threads": 1}
    )
    try:
        for setting in ("temperature=0", "max_tokens=3"):
            run(f"/set {setting}", state)
        state.say("hello")
        short = source.stream(state.conversation(), state.options).finish()
        run("/set max_tokens=", state)
        whole = source.stream(state.conversation(), state.options).finish()
    finally:
        source.close()
    assert (short.finish_reason, short.usage.completion_tokens) == ("length", 3)
    total = whole.usage.prompt_tokens + whole.usage.completion_tokens
    assert total == 128 if whole.finish_reason == "length" else whole.usage.completion_tokens > 16
