"""Sampling field types: each checks a value and converts it to a plain Python value.

`SamplingParams` annotates each field with its type. Its checks, and the field lists used by the
server, the command line and the model loader, come from these annotations.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TypedDict

from yaie.base.errors import InvalidRequest, as_shown

LARGEST_INT = 2**63 - 1  # the largest integer that travels to the engine
LEAST_INT = -LARGEST_INT - 1


class FieldKind(Protocol):
    """Check and conversion of one field's value."""

    def convert(self, name: str, value: Any) -> object:
        """Return the plain value of field `name`; raise `InvalidRequest` if it is wrong."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number in a closed range, also of an array library."""

    least: int = LEAST_INT
    most: int = LARGEST_INT
    wanted: str = "a whole number"
    is_recommended: bool = False  # a model's generation_config.json may set the default

    def convert(self, name: str, value: Any) -> int:
        """Return an int."""
        if not _is_number(value, numbers.Integral):
            reject(name, value, self.wanted)
        if value < self.least:
            reject(name, value, f"at least {self.least}")
        if value > self.most:
            reject(name, value, f"at most {self.most}")
        return int(value)


@dataclass(frozen=True, slots=True)
class Real:
    """A number in a closed range, also of an array library; never NaN."""

    least: float
    most: float
    excludes_least: bool = False
    is_recommended: bool = False  # a model's generation_config.json may set the default

    def convert(self, name: str, value: Any) -> float:
        """Return a float, or an int for a whole number."""
        if not _is_number(value, numbers.Real):
            reject(name, value, "a number")
        if not self.least <= value <= self.most or (self.excludes_least and value == self.least):
            low = "greater than" if self.excludes_least else "between"
            high = "and at most" if self.excludes_least else "and"
            reject(name, value, f"{low} {self.least:g} {high} {self.most:g}")
        return int(value) if isinstance(value, numbers.Integral) else float(value)


@dataclass(frozen=True, slots=True)
class Bool:
    """True or False."""

    def convert(self, name: str, value: Any) -> bool:
        """Return the value."""
        if not isinstance(value, bool):
            reject(name, value, "True or False")
        return value


@dataclass(frozen=True, slots=True)
class Texts:
    """Non-empty strings: a list, or a single one as in vLLM."""

    def convert(self, name: str, value: Any) -> tuple[str, ...]:
        """Return a tuple."""
        if isinstance(value, str):
            value = (value,)
        if not isinstance(value, list | tuple):
            reject(name, value, "a list of str")
        for text in value:
            if not isinstance(text, str):
                reject(name, text, "a list of str only")
            if not text:
                reject(name, text, "non-empty strings")
        return tuple(value)


@dataclass(frozen=True, slots=True)
class TokenIds:
    """A list with at least `least` token ids."""

    least: int = 0

    def convert(self, name: str, value: Any) -> tuple[int, ...]:
        """Return a tuple."""
        if not isinstance(value, list | tuple):
            reject(name, value, "a list of int")
        if len(value) < self.least:
            reject(name, value, f"a list of at least {self.least} token id, or None")
        kind = Whole(wanted="a list of int only")
        return tuple(kind.convert(name, token_id) for token_id in value)


@dataclass(frozen=True, slots=True)
class TokenRuns:
    """A list of non-empty token id lists."""

    def convert(self, name: str, value: Any) -> tuple[tuple[int, ...], ...]:
        """Return a tuple of tuples."""
        if not isinstance(value, list | tuple):
            reject(name, value, "a list of lists of int")
        return tuple(TokenIds(least=1).convert(name, run) for run in value)


@dataclass(frozen=True, slots=True)
class Biases:
    """Numbers by token id."""

    most: float

    def convert(self, name: str, value: Any) -> dict[int, float]:
        """Return a dictionary with plain keys and values."""
        if not isinstance(value, dict):
            reject(name, value, "a mapping from token ids to numbers")
        key = Whole(wanted="keyed by token ids (whole numbers)")
        bias = Real(-self.most, self.most)
        return {key.convert(name, each): bias.convert(name, value[each]) for each in value}


class StructuredOutputsParams(TypedDict, total=False):
    """Constraint on the output under vLLM's name, with one of these fields.

    `json` is a schema, `regex` and each text of `choice` match the whole output, `grammar` is in
    Lark's syntax or in llama.cpp's (GBNF), and `json_object` allows any JSON object.
    """

    json: str | Mapping[str, Any]
    regex: str
    choice: Sequence[str]
    grammar: str
    json_object: bool
    disable_any_whitespace: bool  # no effect, as for the next one
    disable_additional_properties: bool


@dataclass(frozen=True, slots=True)
class Constraint:
    """A mapping as `StructuredOutputsParams`, which is read where a request is made."""

    def convert(self, name: str, value: Any) -> dict[str, Any]:
        """Return a dictionary."""
        if not isinstance(value, Mapping):
            reject(name, value, "StructuredOutputsParams or a mapping")
        return dict(value)


# Parameters of vLLM, with the way to the same end here.
_OLD_PARAMETERS = {
    "bad_words": "use bad_words_token_ids",
    "beam_width": "beam search is not supported; use n",
    "best_of": "use n, and choose by logprobs",
    "guided_decoding": "use structured_outputs",
    "guided_json": "use structured_outputs",
    "guided_regex": "use structured_outputs",
    "guided_choice": "use structured_outputs",
    "guided_grammar": "use structured_outputs",
    "length_penalty": "beam search is not supported; use n",
    "logits_processors": "use logit_bias, allowed_token_ids or structured_outputs",
    "max_new_tokens": "use max_tokens",
    "use_beam_search": "beam search is not supported; use n",
}


def old_parameter_hint(name: str) -> str:
    """Return a hint at the parameter to use instead; empty for unknown names."""
    return f"; {advice}" if (advice := _OLD_PARAMETERS.get(name)) else ""


def _is_number(value: Any, kind: type) -> bool:
    """Return True if `kind` is a numeric type, including array libraries' scalars."""
    return isinstance(value, kind) and not isinstance(value, bool)


def reject(name: str, value: object, wanted: str) -> NoReturn:
    """Raise `InvalidRequest`: field `name` must be `wanted`."""
    raise InvalidRequest(f"{name} must be {wanted}, got {as_shown(value)}", param=name)
