"""`--schema`, `--regex` and `--choice` of `run`: answers of a server and of this process."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from yaie.base.advised_error import AdvisedError
from yaie.base.types import Grammar
from yaie.cli.grammar_options import grammar_of
from yaie.cli.main import run_command_line
from yaie.remote.request_bodies import fields_of

SCHEMA = {
    "type": "object",
    "properties": {"done": {"type": "boolean"}, "color": {"enum": ["red", "green"]}},
    "required": ["done", "color"],
    "additionalProperties": False,
}


@pytest.fixture
def schema_file(tmp_path: Path) -> Path:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA))
    return file


def fits_schema(text: str) -> bool:
    return set(json.loads(text)) == {"done", "color"}


def code(text: str) -> bool:
    return re.fullmatch("[0-9]{3}-[a-f]{2}", text) is not None


FORMS: list[tuple[list[str], Callable[[str], bool]]] = [
    (["--schema", "{file}"], fits_schema),
    (["--regex", "[0-9]{3}-[a-f]{2}"], code),
    (["--choice", "yes, it is", "--choice", "no"], lambda text: text in ("yes, it is", "no")),
    (["--choices", "yes,no"], lambda text: text in ("yes", "no")),
]


@pytest.mark.integration
def test_answers_of_a_server_have_the_form(yaie: Cli, yaie_server: str, schema_file: Path) -> None:
    for at, (flags, fits) in enumerate(FORMS):
        given = [str(schema_file) if flag == "{file}" else flag for flag in flags]
        raw = ["--raw"] if at == 1 else []
        done = yaie("run", "--url", yaie_server, "hello", *raw, *given)
        assert (done.returncode, done.stderr) == (0, "")
        assert fits(done.stdout.removesuffix("\n"))


def test_answers_of_this_process_have_the_form(
    tiny_model_dir: Path, schema_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    for (flags, fits), prompt in product(FORMS, ["hello", "--raw hello"]):
        given = [str(schema_file) if flag == "{file}" else flag for flag in flags]
        here = ["--local", "-m", str(tiny_model_dir), "--num-slots", "4k", "--threads", "1"]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            assert run_command_line(["run", *prompt.split(), *here, *given]) == 0
        assert fits(printed.getvalue().removesuffix("\n"))


@pytest.mark.integration
def test_a_cut_answer_and_an_unusable_form_are_reported(yaie: Cli, yaie_server: str) -> None:
    cut = yaie("run", "--url", yaie_server, "hello", "-n", "4", "--regex", "[a-z]{40}")
    assert cut.returncode == 0
    assert cut.stderr.startswith("warning: --max-tokens cut the answer before it matched")
    for place in (("--url", yaie_server), ("--local",)):
        wrong = yaie("run", *place, "hello", "--regex", "(?=a)b")
        assert (wrong.returncode, wrong.stdout) == (2, "")
        assert "look-around" in wrong.stderr


def test_the_flags_exclude_each_other(schema_file: Path) -> None:
    assert grammar_of(None, None, None) is None
    assert grammar_of(None, None, []) is None
    with pytest.raises(AdvisedError, match="--schema and --choice exclude each other"):
        grammar_of(schema_file, None, ["a"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read"),
        (b"{", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[1]", "is not a JSON schema"),
    ],
)
def test_a_file_without_a_schema_is_named(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    file = tmp_path / "file.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(AdvisedError, match=message) as failure:
        grammar_of(file, None, None)
    assert failure.value.exit_code == 2
    assert str(file) in failure.value.message


def test_a_server_gets_the_fields_of_openai_and_vllm(schema_file: Path) -> None:
    assert fields_of(None) == {}
    sent = fields_of(grammar_of(schema_file, None, None))["response_format"]
    assert (sent["type"], sent["json_schema"]["schema"]) == ("json_schema", SCHEMA)
    assert fields_of(Grammar.regex("a+")) == {"structured_outputs": {"regex": "a+"}}
    assert fields_of(Grammar.choice(["a", "b"])) == {"structured_outputs": {"choice": ["a", "b"]}}
