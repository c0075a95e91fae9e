"""Setting flags shared by several commands: their parameters, counts and shell completion."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, MutableMapping
from typing import Annotated, Any

import typer

from yaie.base.server_settings import SERVER_SETTINGS
from yaie.base.setting_field import Setting, read_count
from yaie.base.settings import ENGINE_SETTINGS
from yaie.base.unknown_variables import unknown_variables
from yaie.cli import terminal
from yaie.cli.dispatch import ROOT_FLAGS
from yaie.cli.failures import usage_error
from yaie.remote.address import WrongAddress, base_url, first_key, key_of

Revision = Annotated[
    str | None,
    typer.Option(
        ENGINE_SETTINGS["revision"].flag,
        help=ENGINE_SETTINGS["revision"].help,
        metavar="TEXT",
        show_default=False,
    ),
]


def parse_count(text: str) -> int:
    """Parse a flag's count, such as 8k; typer prints the error as a usage error."""
    try:
        return read_count(str(text))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


ENGINE_FLAGS = tuple(ENGINE_SETTINGS.values())
SERVER_FLAGS = tuple(SERVER_SETTINGS.values())
_JOINED = frozenset({"lora"})  # commas separate their values; a repeated flag adds values


def flag_parameter(setting: Setting, *, is_repeated: bool = False) -> inspect.Parameter:
    """Return the keyword-only parameter that typer turns into the flag; None means not given.

    `is_repeated`: the flag may be given several times; the value is a list.
    """
    help_text, names = setting.help, [setting.flag, *filter(None, [setting.about.short])]
    if setting.kind is bool:
        names = [f"{setting.flag}/--no-{setting.flag[2:]}"]
        option = typer.Option(*names, help=help_text, show_default=False)
    else:
        parser = parse_count if setting.kind is int else None
        metavar = "TEXT" if setting.kind is str else "N"
        option = typer.Option(
            *names,
            help=help_text,
            parser=parser,
            metavar=metavar,
            autocompletion=completer(setting),
        )
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[(list[str] if is_repeated else setting.kind) | None, option],
    )


def warn_of_unknown_variables() -> None:
    """Print a warning on stderr for each ignored `YAIE_*` variable."""
    for warning in unknown_variables():
        terminal.warn(warning)


def settings_options(
    flags: Iterable[Setting], *, leave_out: tuple[str, ...] = (), repeated: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these flags; it receives the typed ones as one dict, `settings`.

    `repeated`: settings whose flags may be given several times, with lists as values. Values of a
    repeated --lora are joined by commas.
    """
    wanted = [setting for setting in flags if setting.name not in leave_out]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        kept = [parameter for name, parameter in own.items() if name != "settings"]
        added = [
            flag_parameter(setting, is_repeated=setting.name in {*repeated, *_JOINED})
            for setting in wanted
        ]

        @functools.wraps(command)
        def with_settings(**values: Any) -> None:
            given = {setting.name: values.pop(setting.name) for setting in wanted}
            given = {name: value for name, value in given.items() if value not in (None, [])}
            for name in _JOINED & given.keys():
                given[name] = ",".join(given[name])
            command(**values, settings=given)

        with_settings.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in kept] + added
        )
        with_settings.__annotations__ = {p.name: p.annotation for p in (*kept, *added)}
        del with_settings.__wrapped__
        return with_settings

    return decorate


def choose_key(typed: str | None, *, is_named: bool) -> str | None:
    """Return the API key to send (see `key_of`); raise a usage error for an empty --api-key."""
    if typed is not None and not first_key(typed):
        raise usage_error("--api-key is empty", advice="--api-key KEY, or omit --api-key")
    return key_of(typed, is_named=is_named)


def read_base(text: str) -> str:
    """Return the address of a server without the `/v1` at its end. Raises a usage error."""
    try:
        return base_url(text)
    except WrongAddress as error:
        advice = "    or ".join(f"--url {url}" for url in error.fix.split(" or "))
        raise usage_error(error.fact, why=error.why, advice=advice) from None


# Variables in which the shells hand over the command line: bash, then zsh and fish.
_LINES = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")


def complete_model(typed: str) -> list[str]:
    """Return the local models that begin with the typed text."""
    from yaie.cli.models import local_folders

    return [name for name, _ in local_folders() if name.startswith(typed)]


def completer(setting: Setting) -> Callable[[str], list[str]] | None:
    """Return the completion of a setting's values, or None for free text and numbers."""
    if setting.name == "model":
        return complete_model
    if not setting.choices:
        return None

    def complete(typed: str) -> list[str]:
        return [choice for choice in setting.choices if choice.startswith(typed.lower())]

    return complete


def name_the_command(environment: MutableMapping[str, str]) -> None:
    """Insert `run` into a command line to complete that begins with a flag: `yaie -m <Tab>`."""
    for variable in _LINES:
        program, _, rest = environment.get(variable, "").partition(" ")
        first, space, _ = rest.partition(" ")
        if first.startswith("-") and space and first not in ROOT_FLAGS:
            environment[variable] = f"{program} run {rest}"
            if variable == "COMP_WORDS":
                environment["COMP_CWORD"] = str(int(environment["COMP_CWORD"]) + 1)
