"""Setting flags shared by several commands, and the parser for counts such as 8k."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from yaie.base.server_settings import SERVER_SETTINGS
from yaie.base.setting_field import Setting
from yaie.base.settings import ENGINE_SETTINGS, unknown_variables
from yaie.cli import terminal
from yaie.cli.completion import completer
from yaie.cli.failures import usage_error
from yaie.remote.address import WrongAddress, base_url, first_key, key_of

_MULTIPLIERS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "K": 2**10,
    "M": 2**20,
    "G": 2**30,
}


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
    """Parse a count: 8000, 8k (8,000), 8K or 8Ki (8,192), 10MiB.

    Lower case is decimal and upper case binary, as in vLLM.
    """
    plain = str(text).strip().replace(",", "").replace("_", "")
    found = re.fullmatch(r"(-?\d+(?:\.\d+)?)(?:([kmgKMG])(?:i?B|i)?)?", plain)
    if found is None:
        raise typer.BadParameter(
            f"{text!r} is not a count; write it as 8000, 8k (8,000) or 8K (8,192)"
        )
    value = float(found[1]) * _MULTIPLIERS[found[2] or ""]
    if not value.is_integer():
        raise typer.BadParameter(f"{text!r} is not a whole number")
    return int(value)


ENGINE_FLAGS = tuple(ENGINE_SETTINGS.values())
SERVER_FLAGS = tuple(SERVER_SETTINGS.values())


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

    `repeated`: settings whose flags may be given several times, with lists as values.
    """
    wanted = [setting for setting in flags if setting.name not in leave_out]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        kept = [parameter for name, parameter in own.items() if name != "settings"]
        added = [
            flag_parameter(setting, is_repeated=setting.name in repeated) for setting in wanted
        ]

        @functools.wraps(command)
        def with_settings(**values: Any) -> None:
            given = {setting.name: values.pop(setting.name) for setting in wanted}
            given = {name: value for name, value in given.items() if value not in (None, [])}
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
