"""`yaie serve`: the service of `uvicorn server.api:app`, with flags and a port bound first.

The app's lifespan starts and supervises the engine. This module reads the settings and checks the
model; `yaie.server.serving` binds the port and runs the server.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from yaie.base.errors import StartupError
from yaie.base.server_settings import SERVER_SETTINGS
from yaie.base.settings import Settings
from yaie.cli import terminal
from yaie.cli.failures import usage_error
from yaie.cli.options import (
    ENGINE_FLAGS,
    SERVER_FLAGS,
    complete_model,
    settings_options,
    warn_of_unknown_variables,
)
from yaie.process.spawn import gc_paused_then_frozen
from yaie.server.serving import bind, check_tls, end_at_once, run_server


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
    ray: Annotated[
        bool, typer.Option("--ray", help="run the engine as replicas on Ray Serve [off]")
    ] = False,
    opens_page: Annotated[
        bool, typer.Option("--open", help="open the page /ui in a browser [off]")
    ] = False,
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
    from yaie.base.setting_field import variable_value
    from yaie.base.settings import SETTINGS, load_settings

    log_format = SETTINGS["log_format"]
    terminal.log_as(settings.get(log_format.name) or variable_value(log_format.variable))
    loaded = load_settings(config, **name_models(name, settings))
    terminal.log_as(loaded.log_format)
    configs = engine_configs(loaded)
    warn_of_unknown_variables()
    check_tls(loaded)
    if ray:
        from yaie.ray.local_front import import_ray, run_on_ray

        import_ray(loaded)
    else:
        _check_alone(loaded)
    with bind(loaded.host, loaded.port) as listener:
        for each in configs:
            try:
                check_model(each.source)
            except StartupError as error:
                if not loaded.lazy_load:
                    raise
                terminal.warn(f"{each.model_name} answers 503 until it is mended: {error.message}")
        if ray:
            run_on_ray(loaded, configs, listener)
        else:
            with gc_paused_then_frozen():
                from yaie.server.app import create_app

            run_server(
                loaded,
                configs,
                listener,
                lambda given, stop: create_app(given, on_fatal=stop),
                opens_page=opens_page,
            )
        end_at_once()


def _check_alone(settings: Settings) -> None:
    """Refuse settings of replicas for one engine in this process."""
    for name in ("replicas", "max_replicas", "ray_address"):
        if getattr(settings, name) != SERVER_SETTINGS[name].default:
            flag = SERVER_SETTINGS[name].flag
            raise usage_error(
                f"{flag} is for replicas on Ray", advice=f"yaie serve --ray {flag} ..."
            )


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
