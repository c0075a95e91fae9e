"""Keys on command lines, and variables that child processes receive."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from yaie.process.hidden_keys import HUB_VARIABLES, environment_without_secrets
from yaie.process.spawn import module_environment

LINUX = pytest.mark.skipif(
    not Path("/proc/self/cmdline").exists(), reason="other systems hide command lines themselves"
)
SHOW = (
    "import sys; from pathlib import Path; "
    "from yaie.process.hidden_keys import hide_keys_of_arguments as hide; hide(); {change}"
    "print(Path('/proc/self/cmdline').read_bytes()); print(sys.argv[1:])"
)


def shown(*arguments: str) -> tuple[list[bytes], list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", SHOW.format(change=""), *arguments],
        env=module_environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    line, kept = map(eval, done.stdout.splitlines())
    return line.split(b"\0")[3:-1], kept


@LINUX
@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (["serve", "--api-key", "sécret", "--port", "1"],
         ["serve", "--api-key", "*******", "--port", "1"]),
        (["--admin-key=a=b", "--tool-key", "--api-key", "x"],
         ["--admin-key=***", "--tool-key", "*********", "x"]),
        (["serve", "--api-key"], ["serve", "--api-key"]),
        (["--api-key", "", "--api-key=", "--api-keys", "x", "api-key=x"],
         ["--api-key", "", "--api-key=", "--api-keys", "x", "api-key=x"]),
        ([], []),
    ],
)  # fmt: skip
def test_keys_on_the_command_line_are_overwritten(given: list[str], seen: list[str]) -> None:
    line, kept = shown(*given)
    assert line == [each.encode() for each in seen]
    assert kept == given


@LINUX
def test_a_command_line_that_is_not_known_stays() -> None:
    """Another library may have written a title over it."""
    code = (
        "import sys; sys.orig_argv = ['other', '--api-key', 'x']; "
        "from yaie.process.hidden_keys import hide_keys_of_arguments as hide; hide(); "
        "print(open('/proc/self/cmdline').read())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--api-key", "x"],
        env=module_environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.endswith("--api-key\0x\0\n")


SECRETS = {
    "YAIE_API_KEY": "x",
    "YAIE_ADMIN_KEY": "x",
    "YAIE_TOOL_KEY": "x",
    "HF_TOKEN": "x",
    "OPENAI_API_KEY": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
    "AWS_SESSION_TOKEN": "x",
    "DB_PASSWORD": "x",
    "OTEL_EXPORTER_OTLP_HEADERS": "authorization=x",
    "PIP_INDEX_URL": "https://me:x@index.example/simple",
    "http_proxy": "http://me:x@proxy.example:3128",
}
PLAIN = {
    "YAIE_KERNELS": "auto",
    "TOKENIZERS_PARALLELISM": "false",
    "YAIE_MAX_TOKENS": "5",
    "KEYBOARD": "us",
    "no_proxy": "a:1,b@c",
    "SOME_URL": "http://a.example/x:y@z",
}


def test_child_processes_get_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (SECRETS | PLAIN).items():
        monkeypatch.setenv(name, value)
    found = environment_without_secrets()
    assert not set(SECRETS) & set(found)
    assert PLAIN.items() <= found.items()
    assert module_environment(keep=HUB_VARIABLES)["HF_TOKEN"] == "x"
    assert "OPENAI_API_KEY" not in module_environment(keep=HUB_VARIABLES)
