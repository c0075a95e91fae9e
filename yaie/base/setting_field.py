"""`Setting`: one setting's meaning, type, choices, range and default, as data.

Settings are dataclass fields (`yaie.base.settings`) annotated with `About`. Value checks, command
line flags and help texts are derived from the fields. Kubernetes sets variables that look like
settings' variables: with a service `yaie`, `YAIE_PORT` is an address.
"""

from __future__ import annotations

import os
import re
import types
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from yaie.base.errors import ConfigError, as_shown

ENV_PREFIX = "YAIE_"
LARGEST_COUNT = 2**31 - 1  # tokens, rows or requests: more than any machine can store
LARGEST_SIZE = 2**63 - 1  # in bytes: the largest integer that travels to the engine

_KIND_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
_BOOLS = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}
_UNITS = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


@dataclass(frozen=True, slots=True)
class About:
    """Annotation of a setting's type: `threads: Annotated[int, About("...", least=1)] = 4`."""

    meaning: str
    least: float | None = None
    most: float | None = None
    above: float | None = None  # values are greater than this
    unset: str = ""  # the meaning of a default such as None or "auto"
    short: str = ""  # the short flag


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, with one name as flag, variable and keyword."""

    name: str
    kind: type  # int, float, bool or str
    default: object
    about: About
    choices: tuple[str, ...]
    is_optional: bool  # None is allowed
    takes_integers: bool = False  # as text

    @property
    def flag(self) -> str:
        """The flag of the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"{ENV_PREFIX}{self.name.upper()}"

    @property
    def help(self) -> str:
        """The help text of the flag: meaning, choices and default."""
        choices = f": {_list_choices(self.choices)}" if self.choices else ""
        shown = ["" if self.default in (None, "") else self.shown(self.default), self.about.unset]
        return f"{self.about.meaning}{choices} [{': '.join(filter(None, shown)) or 'none'}]"

    def parse(self, text: str) -> object:
        """Return the value of `text`, or `text` itself if it cannot be parsed."""
        if self.choices:
            return text.lower() if text.lower() in self.choices else text
        if self.kind is bool:
            return _BOOLS.get(text.strip().lower(), text)
        try:
            return read_count(text) if self.kind is int else self.kind(text)
        except ValueError:
            return text

    def shown(self, value: object) -> str:
        """Return a value as a person writes it: "not set", "on", "32 GiB", "30 s"."""
        if value in (None, ""):
            return "not set"
        if isinstance(value, bool):
            return "on" if value else "off"
        if isinstance(value, int) and self.name.endswith("_bytes"):
            for size, unit in _UNITS:
                if value and value % size == 0:
                    return f"{value // size} {unit}"
        text = f"{value:g}" if isinstance(value, float) else str(value)
        return f"{text} s" if self.name.endswith("_s") else text

    def check(self, value: object, source: str | None = None) -> None:
        """Raise `ConfigError` unless `value` is allowed; `source` names it in the message."""
        wanted = self._find_violation(value)
        if wanted == _KIND_NAMES[int] and source and isinstance(value, str):
            wanted = f"{wanted}, such as {COUNT_EXAMPLES}"
        if wanted:
            shown = as_shown(value)
            raise ConfigError(
                f"{source or self.name} is {shown}; it must be {wanted}", param=self.name
            )

    def _find_violation(self, value: object) -> str | None:
        """Return the requirement that `value` violates."""
        if (value is None and self.is_optional) or (type(value) is int and self.takes_integers):
            return None
        if self.choices:
            return None if value in self.choices else f"one of {', '.join(self.choices)}"
        allowed = int | float if self.kind is float else self.kind
        if not isinstance(value, allowed) or (isinstance(value, bool) and self.kind is not bool):
            return _KIND_NAMES[self.kind]
        return self._find_range_violation(value) if isinstance(value, int | float) else None

    def _find_range_violation(self, value: float) -> str | None:
        about = self.about
        if about.above is not None and not value > about.above:  # also rejects NaN
            return f"greater than {about.above}"
        if about.least is not None and not value >= about.least:
            return f"at least {about.least}"
        if about.most is not None and not value <= about.most:
            return f"at most {about.most}"
        return None


def settings_of(cls: type) -> dict[str, Setting]:
    """Return a dataclass's settings by name, in field order."""
    hints = get_type_hints(cls, include_extras=True)
    return {each.name: _setting(each.name, hints[each.name], each.default) for each in fields(cls)}


def _setting(name: str, hint: Any, default: object) -> Setting:
    hint, about = get_args(hint)
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    kind, *others = [option for option in options if option is not type(None)]
    assert others in ([], [int]), name
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    return Setting(
        name=name,
        kind=str if choices else kind,
        default=default,
        about=about,
        choices=choices,
        is_optional=type(None) in options,
        takes_integers=bool(others),
    )


def _list_choices(words: Iterable[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


COUNT_EXAMPLES = "8000, 8k (8,000), 8K (8,192) or 16G"
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}
_FORM = re.compile(r"(-?\d+(?:\.\d+)?)(?:([kmgt])(i?b|i)?)?", re.ASCII | re.IGNORECASE)


def read_count(text: str) -> int:
    """Return a count: 8000, 8k (8,000), 8K or 8Ki (8,192), 10MiB.

    A lower-case unit is decimal and an upper-case unit binary, as in vLLM; a unit with an i is
    binary. Raises ValueError.
    """
    plain = text.strip().replace(",", "").replace("_", "")
    found = _FORM.fullmatch(plain)
    if found is None:
        raise ValueError(f"{text!r} is not a count; write it as {COUNT_EXAMPLES}")
    number, unit, ending = found[1], found[2] or "", found[3] or ""
    is_binary = unit.isupper() or ending.lower().startswith("i")
    value = float(number) if "." in number else int(number)
    value *= (1024 if is_binary else 1000) ** _POWERS.get(unit.lower(), 0)
    if value != int(value):
        raise ValueError(f"{text!r} is not a whole number")
    return int(value)


# Variables of commands: server address, chat history, settings file, tracebacks.
CLIENT_VARIABLES = frozenset({"YAIE_BASE_URL", "YAIE_CHAT_HISTORY", "YAIE_CONFIG", "YAIE_DEBUG"})
# Read by the kernel library: off, or the instruction set to use.
LIBRARY_VARIABLES = frozenset({"YAIE_KERNELS"})


def variable_value(variable: str) -> str | None:
    """Return an environment variable; None if it is empty or set by Kubernetes."""
    value = os.environ.get(variable)
    if not value or is_service_link(variable, value):  # compose files set empty variables
        return None
    return value


_SERVICE_LINK = re.compile(
    rf"{ENV_PREFIX}(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)"
)
_SERVICE_ADDRESS = re.compile(r"(tcp|udp|sctp)://.*")


def is_service_link(variable: str, value: str) -> bool:
    """Return True if Kubernetes set this variable, for a service `yaie` or `yaie-*`.

    `YAIE_PORT` then is an address such as `tcp://10.96.1.2:8000`, not the setting.
    """
    if _SERVICE_LINK.fullmatch(variable):
        return True
    return variable.endswith("_PORT") and _SERVICE_ADDRESS.fullmatch(value) is not None
