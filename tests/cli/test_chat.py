"""The chat: what slash commands do to the conversation, and what a turn leaves behind."""

from __future__ import annotations

import io
import json
from collections.abc import Generator
from pathlib import Path

import pytest

from yaie.cli.answers import Answer, AnswerStream, Question, Wishes
from yaie.cli.chat import answer_turn, converse, read_turn, take_turn
from yaie.cli.chat_commands import ChatState, Leave, obey
from yaie.cli.failures import CommandFailed
from yaie.cli.local import ModelAnswers
from yaie.errors import EngineDied, YaieError
from yaie.types import Usage

USER = {"role": "user", "content": "one"}
ASSISTANT = {"role": "assistant", "content": "ONE"}


def piped(text: str | bytes) -> io.TextIOWrapper:
    """Standard input from a pipe."""
    data = text if isinstance(text, bytes) else text.encode()
    return io.TextIOWrapper(io.BytesIO(data), encoding="ascii", errors="strict")


class LoudAnswers:
    """Answers a question with itself in capitals, a letter at a time, and remembers questions."""

    name = "loud"

    def __init__(self, fails_after: int | None = None, error: BaseException | None = None) -> None:
        self.asked: list[Question] = []
        self.closed: list[str] = []
        self._fails_after, self._error = fails_after, error

    def stream(self, question: Question, wishes: Wishes) -> AnswerStream:
        self.asked.append(question)
        return AnswerStream(self._pieces(question))

    def _pieces(self, question: Question) -> Generator[str, None, Answer]:
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
        return Answer(
            text=text,
            finish_reason="stop",
            usage=Usage(prompt_tokens=1, completion_tokens=len(text), cached_tokens=0),
            first_token_s=0.1,
            total_s=0.2,
            model="loud",
            place="here",
        )

    def settle(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture
def state() -> ChatState:
    return ChatState(wishes=Wishes(max_tokens=512, may_be_shorter=True))


def test_a_turn_shows_the_model_all_turns_before_it(
    state: ChatState, capsys: pytest.CaptureFixture[str]
) -> None:
    source = LoudAnswers()
    state.system = "be loud"
    for text in ("one", "two"):
        assert take_turn(text, state)
        answer_turn(source, state)
    assert capsys.readouterr().out == "ONE\nTWO\n"
    system = {"role": "system", "content": "be loud"}
    assert source.asked[1] == [system, USER, ASSISTANT, {"role": "user", "content": "two"}]


def test_ctrl_c_keeps_what_was_said_and_ends_the_answer(state: ChatState) -> None:
    source = LoudAnswers(fails_after=2, error=KeyboardInterrupt())
    take_turn("stop me", state)
    answer_turn(source, state)
    assert state.turns[-1] == {"role": "assistant", "content": "ST"}
    assert source.closed == ["ST"]


def test_a_question_that_failed_is_taken_back(state: ChatState) -> None:
    source = LoudAnswers(fails_after=1, error=EngineDied("gone"))
    take_turn("one", state)
    with pytest.raises(EngineDied):
        answer_turn(source, state)
    assert state.turns == []


def test_regen_and_undo(state: ChatState) -> None:
    state.turns = [dict(USER), dict(ASSISTANT)]
    assert obey("/regen", state)
    assert state.turns == [USER]
    assert not obey("/undo", state)
    assert state.turns == []
    for command in ("/regen", "/undo"):
        with pytest.raises(YaieError, match="nothing was asked"):
            obey(command, state)


def test_set_changes_one_wish_and_refuses_nonsense(state: ChatState) -> None:
    obey("/set temperature=0.5", state)
    obey("/set max-tokens = 1k", state)
    obey("/set stop=END", state)
    assert state.wishes.given() == {"max_tokens": 1000, "temperature": 0.5, "stop": ["END"]}
    assert not state.wishes.may_be_shorter
    obey("/set temperature=", state)
    assert state.wishes.temperature is None
    before = state.wishes
    for wrong in ("temperature=hot", "colour=red", "top_p=7", "max_tokens=8q", "max_tokens=0"):
        with pytest.raises(YaieError):
            obey(f"/set {wrong}", state)
    assert state.wishes == before


def test_a_file_goes_before_the_next_question_only(state: ChatState, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("the notes", encoding="utf-8")
    obey(f"/file {tmp_path / 'notes.md'}", state)
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
            obey(f"/file {tmp_path / name}", state)


def test_turns_alternate_also_after_a_stop_before_the_first_word(state: ChatState) -> None:
    state.say("wrong")
    state.remember("", None)
    state.say("right")
    assert [turn["content"] for turn in state.turns] == ["right"]


def test_a_file_waits_for_the_next_question_when_one_fails(
    state: ChatState, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("the notes", encoding="utf-8")
    obey(f"/file {tmp_path / 'notes.md'}", state)
    state.say("what do they say?")
    with pytest.raises(EngineDied):
        answer_turn(LoudAnswers(fails_after=0, error=EngineDied("it died")), state)
    assert state.turns == []
    state.say("once more: what do they say?")
    assert state.turns[0]["content"].startswith("the notes")


def test_a_saved_chat_can_be_loaded(state: ChatState, tmp_path: Path) -> None:
    saved = tmp_path / "chat.json"
    state.system, state.turns = "be nice", [dict(USER), dict(ASSISTANT)]
    obey(f"/save {saved}", state)
    obey("/clear", state)
    assert state.turns == []
    state.system = None
    obey(f"/load {saved}", state)
    assert (state.system, state.turns) == ("be nice", [USER, ASSISTANT])
    for wrong in ("[]", "no json", json.dumps({"system": None, "turns": [{"role": "user"}]})):
        saved.write_text(wrong, encoding="utf-8")
        with pytest.raises(YaieError, match="not a saved chat"):
            obey(f"/load {saved}", state)
    assert state.turns == [USER, ASSISTANT]


def test_commands_that_do_not_exist_are_refused(state: ChatState) -> None:
    with pytest.raises(YaieError, match="no command /nope"):
        obey("/nope", state)
    with pytest.raises(Leave):
        obey("/exit", state)


def test_help_names_every_command(state: ChatState, capsys: pytest.CaptureFixture[str]) -> None:
    obey("/help", state)
    shown = capsys.readouterr().err
    names = "help clear system regen undo set file save load stats exit"
    assert all(f"/{name}" in shown for name in names.split())


def test_triple_quotes_make_one_turn_of_several_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", piped('"""first\n/second\nthird"""\nnext\n'))
    assert read_turn(typed_by_hand=False).text == "first\n/second\nthird"
    assert read_turn(typed_by_hand=False).text == "next"
    with pytest.raises(EOFError):
        read_turn(typed_by_hand=False)


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
    assert read_turn(typed_by_hand=False).text == text
    with pytest.raises(EOFError):
        read_turn(typed_by_hand=False)


def test_text_in_quotes_is_no_command(
    state: ChatState, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", piped('"""/undo it all"""\n'))
    converse(LoudAnswers(), state, typed_by_hand=False)
    assert capsys.readouterr().out == "/UNDO IT ALL\n"


def test_piped_lines_are_turns_and_the_end_of_the_input_is_the_end(
    state: ChatState, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", piped("one\n\n/undo\ntwo\n"))
    converse(LoudAnswers(), state, typed_by_hand=False)
    assert capsys.readouterr().out == "ONE\nTWO\n"
    assert [turn["content"] for turn in state.turns] == ["two", "TWO"]


def test_what_was_piped_before_what_is_no_text_is_answered(
    state: ChatState, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", piped("déjà\n".encode() + b"d\xe9j\xe0 vu\nagain\n"))
    with pytest.raises(CommandFailed, match="not UTF-8") as caught:
        converse(LoudAnswers(), state, typed_by_hand=False)
    assert caught.value.exit_code == 2
    assert capsys.readouterr().out == "DÉJÀ\n"


def test_without_a_limit_a_local_answer_ends_with_the_model_or_the_context(
    state: ChatState, tiny_model_dir: Path
) -> None:
    source = ModelAnswers(
        {"model": str(tiny_model_dir), "num_slots": 256, "max_model_len": 128, "threads": 1}
    )
    try:
        for setting in ("temperature=0", "max_tokens=3"):
            obey(f"/set {setting}", state)
        state.say("hello")
        short = source.stream(state.conversation(), state.wishes).finish()
        obey("/set max_tokens=", state)
        whole = source.stream(state.conversation(), state.wishes).finish()
    finally:
        source.close()
    assert (short.finish_reason, short.usage.completion_tokens) == ("length", 3)
    total = whole.usage.prompt_tokens + whole.usage.completion_tokens
    assert total == 128 if whole.finish_reason == "length" else whole.usage.completion_tokens > 16
