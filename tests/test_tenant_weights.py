"""Weights of tenants as a setting: their form, and the names that API keys have."""

from __future__ import annotations

import pytest

from yaie.base.errors import ConfigError
from yaie.base.settings import EngineConfig, Settings, load_settings
from yaie.base.tenants import BATCHES, parse_weights, tenant_digest


def test_weights_are_parsed() -> None:
    assert parse_weights("") == {}
    assert parse_weights(" ada=2, a=b=0.5 ,") == {"ada": 2.0, "a=b": 0.5}
    assert EngineConfig(tenant_weights="ada=2").weights == {BATCHES: 0.001, "ada": 2.0}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("ada", "entry 1 .* must be name=weight"),
        ("ada=1,=2", "entry 2 .* must be name=weight"),
        ("ada=1,bob=2,ada=3", "entry 3 .* has a weight already"),
        ("ada=much", "entry 1 .* must be from 0.001 to 1000"),
        ("ada=0", "must be from"),
        ("ada=nan", "must be from"),
        ("ada=inf", "must be from"),
        ("ada=-1", "must be from"),
    ],
)
def test_wrong_weights_are_errors(text: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=fault) as failure:
        EngineConfig(tenant_weights=text)
    assert failure.value.param == "tenant_weights"
    monkeypatch.setenv("YAIE_TENANT_WEIGHTS", text)
    with pytest.raises(ConfigError, match=fault):
        load_settings()


def test_with_keys_a_name_is_the_digest_of_a_key() -> None:
    digest = tenant_digest(b"secret-key")
    assert len(digest) == 16
    settings = Settings(api_key="secret-key,other", tenant_weights=f"{digest}=2")
    assert settings.engine_config().weights == {BATCHES: 0.001, digest: 2.0}
    settings = Settings(api_key="secret-key", tenant_weights=f"{BATCHES}=0.5")
    assert settings.engine_config().weights == {BATCHES: 0.5}
    with pytest.raises(ConfigError, match="matches no API key") as failure:
        Settings(api_key="secret-key,other", tenant_weights="secret-key=2")
    assert "secret-key" not in failure.value.message
