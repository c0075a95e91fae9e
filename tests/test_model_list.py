"""The setting `models`: entries, settings of one model, and refusals."""

from __future__ import annotations

import re

import pytest

from yaie.base.errors import ConfigError
from yaie.base.served_models import engine_configs
from yaie.base.settings import Settings


def test_models_have_names_and_settings_of_their_own() -> None:
    text = "a=builtin, b=/models/b;quantization=INT8;num-slots=64"
    first, second = engine_configs(Settings(models=text, max_running=3))
    assert (first.model, first.model_names, first.num_slots) == ("builtin", ("a",), None)
    assert (second.model, second.model_name) == ("/models/b", "b")
    assert (second.quantization, second.num_slots, second.max_running) == ("int8", 64, 3)


def test_the_model_itself_comes_first_if_it_is_set() -> None:
    configs = engine_configs(Settings(model="/models/x", models="b=builtin"))
    assert [config.model_name for config in configs] == ["/models/x", "b"]
    configs = engine_configs(Settings(served_model_name="small", models="b=/y"))
    assert [config.model_name for config in configs] == ["small", "b"]
    assert len(engine_configs(Settings())) == 1


def test_shared_adapters_are_for_the_first_model() -> None:
    listed = "b=builtin;lora=/adapters/b,c=builtin;lora=x=/adapters/x,d=builtin"
    configs = engine_configs(Settings(model="/models/a", lora="/adapters/a", models=listed))
    assert [each.lora for each in configs] == ["/adapters/a", "/adapters/b", "x=/adapters/x", ""]
    configs = engine_configs(Settings(models="a=builtin,b=builtin", lora="/adapters/a"))
    assert [each.lora for each in configs] == ["/adapters/a", ""]


@pytest.mark.parametrize(
    ("models", "problem"),
    [
        ("a", "'a' must be name=model"),
        ("=b", "must be name=model"),
        ("a=", "must be name=model"),
        ("a=x,a=y", "repeats the name 'a'"),
        ("a=x;fast", "has 'fast', which must be setting=value"),
        ("a=x;num_slot=4", "num_slot of 'a' is not an engine setting; did you mean num_slots"),
        ("a=x;port=4", "port of 'a' is not an engine setting"),
        ("a=x;num_slots=-4", "num_slots of 'a' is -4; it must be at least 2"),
        ("a=x;quantization=int3", "it must be one of int8, int4"),
    ],
)
def test_a_wrong_entry_is_named(models: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        engine_configs(Settings(models=models))


def test_two_models_of_one_name_are_refused() -> None:
    settings = Settings(model="x", served_model_name="a,b", models="b=y")
    with pytest.raises(ConfigError, match="two models have the name 'b'"):
        engine_configs(settings)
