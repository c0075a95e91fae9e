"""The file of API keys, its errors, and the secret behind public names of tenants."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from yaie.base.errors import ConfigError
from yaie.base.settings import Settings
from yaie.base.state_folder import installation_secret
from yaie.base.tenants import tenant_digest


def test_a_file_names_its_keys(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# staff\nada  sk-ada-old\nada\tsk-ada-new\n\nsk-plain\n")
    settings = Settings(
        api_key="listed", api_key_file=str(file), tenant_weights="ada=2", tenant_priorities="ada=1"
    )
    assert settings.has_keys
    assert settings.tenants_by_key() == {
        "listed": tenant_digest(b"listed"),
        "sk-ada-old": "ada",
        "sk-ada-new": "ada",
        "sk-plain": tenant_digest(b"sk-plain"),
    }
    with pytest.raises(ConfigError, match="matches no API key"):
        Settings(api_key_file=str(file), tenant_weights="bob=2")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "contains no key"),
        ("# only a comment\n", "contains no key"),
        ("ada bob sk-1", "line 1 .* must be KEY, or NAME KEY"),
        ("sk-1\n-ada sk-2", "line 2 .* choose a name"),
        ("0123456789abcdef sk-1", "line 1 .* choose a name"),
        ("batches sk-1", "line 1 .* 'batches'"),
        ("ada sk-1\nbob sk-1", "line 2 .* repeats a key"),
        (b"\xff\xfe", "not UTF-8"),
        (None, "No such file"),
    ],
)
def test_a_wrong_file_is_an_error_without_its_keys(
    text: str | bytes | None, fault: str, tmp_path: Path
) -> None:
    file = tmp_path / "keys"
    if text is not None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError, match=fault) as failure:
        Settings(api_key_file=str(file))
    assert failure.value.param == "api_key_file"
    assert "sk-" not in failure.value.message


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    for text in ("first\nsecond\n", "ada first\r\nsecond"):
        file.write_text(text, encoding="utf-8-sig")
        assert set(Settings(api_key_file=str(file)).tenants_by_key()) == {"first", "second"}


def test_the_secret_is_private_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    secret = installation_secret()
    assert len(secret) == 32
    assert installation_secret() == secret
    (file,) = (tmp_path / "yaie").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    file.chmod(0o640)  # a secret that others read is none
    assert installation_secret() != secret
    file.chmod(0o600)
    file.write_bytes(b"short")
    assert len(installation_secret()) == 32


def test_without_a_place_the_secret_is_new_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", os.devnull)
    first, second = installation_secret(), installation_secret()
    assert len(first) == len(second) == 32
    assert first != second
