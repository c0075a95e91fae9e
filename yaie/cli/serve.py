"""`yaie serve`: the service of `uvicorn server.api:app`, with flags and a port bound first.

The app's lifespan starts and supervises the engine. This module reads the settings and checks the
model; `yaie.server.serving` binds the port and runs the server.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from yaie.cli.completion import complete_model
from yaie.cli.failures import usage_error
from yaie.cli.options import (
    ENGINE_FLAGS,
    SERVER_FLAGS,
    settings_options,
    warn_of_unknown_variables,
)
from yaie.process.spawn import gc_paused_then_frozen
from yaie.server.serving import bind, check_tls, introduce, run_server


@settings_options((*ENGINE_FLAGS, *SERVER_FLAGS), repeated=("model",))
def serve(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help="same as --model",
            show_default=False,
            autocompletion=complete_model,
        ),
    ] = None,
    *,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="settings file: YAML, TOML or JSON [YAIE_CONFIG]"),
    ] = None,
    settings: dict[str, Any],
) -> None:
    """Serve a model over the OpenAI API. Every flag is also a YAIE_* variable.

    To serve several models, repeat --model name=path.
    """
    from yaie.base.served_models import engine_configs
    from yaie.base.settings import load_settings

    loaded = load_settings(config, **name_models(name, settings))
    configs = engine_configs(loaded)
    warn_of_unknown_variables()
    check_tls(loaded)
    with bind(loaded.host, loaded.port) as listener:
        for each in configs:
            check_model(each.source)
        introduce(loaded, configs, listener)
        with gc_paused_then_frozen():
            from yaie.server.app import create_app

        run_server(loaded, listener, lambda given, stop: create_app(given, on_fatal=stop))


def name_models(name: str | None, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with `model` and `models` from MODEL and every --model."""
    given = [each for each in settings.pop("model", []) if each != name]
    if name is not None:
        if not name.strip():  # as a path it would be the current folder
            raise usage_error("MODEL is empty", advice="yaie serve    (the built-in model)")
        given.insert(0, name)
    plain = [each for each in given if not is_named(each)]
    if len(plain) > 1:
        raise usage_error(
            f"several models need names: {', '.join(plain)}",
            advice=" ".join(f"--model NAME={each}" for each in plain),
        )
    named = [each for each in given if is_named(each)]
    if named:
        settings["models"] = ",".join([*named, *filter(None, [settings.get("models")])])
    return settings | ({"model": plain[0]} if plain else {})


def is_named(model: str) -> bool:
    """Return True for name=model; a path may have an equals sign too."""
    name, separator, _ = model.partition("=")
    return bool(separator) and "/" not in name and not Path(model).exists()


def check_model(model: str) -> None:
    """Refuse a missing, damaged or unsupported model before the service starts.

    Repository weights are downloaded later, while the service answers health probes.
    """
    from yaie.models.architecture.support import check_supported
    from yaie.models.files.checkpoint import read_config
    from yaie.models.load.folder import names_repository, open_folder, resolve_model_path

    if names_repository(model):
        check_supported(read_config(resolve_model_path(model, with_weights=False)))
    else:
        open_folder(model)
