"""Default sampling as a setting: `temperature=0.7,top_p=0.9`."""

from __future__ import annotations

from yaie.base.errors import ConfigError, InvalidRequest
from yaie.base.sampling_fields import Real
from yaie.base.types import SAMPLING_FIELDS, SamplingParams

# Numbers that shape the distribution.
_NAMES = tuple(
    name
    for name, each in SAMPLING_FIELDS.items()
    if each.is_recommended or isinstance(each.kind, Real)
)


def parse_default_sampling(text: str) -> dict[str, int | float]:
    """Return the values by name. Raises `ConfigError` for an unknown name or a wrong value."""
    values: dict[str, int | float] = {}
    for entry in filter(str.strip, text.split(",")):
        name, separator, value = (part.strip() for part in entry.partition("="))
        if not separator or name not in _NAMES:
            raise _wrong(f"{entry.strip()!r} must be name=value, with one of {', '.join(_NAMES)}")
        try:
            values[name] = int(value) if name == "top_k" else float(value)
            SamplingParams(**{name: values[name]})  # type: ignore[arg-type]
        except ValueError:
            raise _wrong(f"{name} is {value!r}, which is not a number") from None
        except InvalidRequest as error:
            raise _wrong(error.message) from None
    return values


def _wrong(fact: str) -> ConfigError:
    return ConfigError(f"default_sampling: {fact}", param="default_sampling")
