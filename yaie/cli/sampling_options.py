"""The sampling flags of `run` and `chat`; a chat's `/set` changes the same options."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_type_hints

import typer

from yaie.base.types import SamplingParams
from yaie.cli.options import parse_count

DEFAULT_MAX_TOKENS = 512
# For models whose authors recommend no sampling. The API's default, temperature 1.0 over the whole
# vocabulary, makes small models wander.
DEFAULT_SAMPLING = {"temperature": 0.7, "top_p": 0.9}
_SHAPING = frozenset({"temperature", "top_p", "top_k", "min_p"})


def default_sampling(recommended: Mapping[str, float]) -> dict[str, float]:
    """Return the sampling of `run` and `chat`: the recommended one, else `DEFAULT_SAMPLING`."""
    is_recommended = not _SHAPING.isdisjoint(recommended)
    return {**({} if is_recommended else DEFAULT_SAMPLING), **recommended}


def describe_sampling(values: Mapping[str, Any]) -> str:
    """Return sampling parameters as text: `temperature 0.7, top_p 0.9`."""
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _or_ours(name: str) -> str:
    return f"the model's, else {DEFAULT_SAMPLING[name]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingOptions:
    """`SamplingParams` fields that a person can set; None uses the model's default.

    Each field's annotation is its flag.
    """

    max_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-tokens",
            "-n",
            parser=parse_count,
            metavar="N",
            help=f"maximum output tokens [{DEFAULT_MAX_TOKENS}]",
        ),
    ] = None
    temperature: Annotated[
        float | None,
        typer.Option(
            "--temperature",
            "-t",
            help=f"sampling temperature; 0 is greedy [{_or_ours('temperature')}]",
            metavar="T",
        ),
    ] = None
    top_p: Annotated[
        float | None,
        typer.Option(
            "--top-p", help=f"nucleus sampling probability [{_or_ours('top_p')}]", metavar="P"
        ),
    ] = None
    top_k: Annotated[
        int | None,
        typer.Option(
            "--top-k", help="sample from the K most likely tokens [the model's]", metavar="K"
        ),
    ] = None
    min_p: Annotated[
        float | None,
        typer.Option(
            "--min-p",
            help="drop tokens below this share of the most likely token [the model's]",
            metavar="P",
        ),
    ] = None
    repetition_penalty: Annotated[
        float | None,
        typer.Option(
            "--repetition-penalty",
            help="penalty on tokens of prompt and answer; 1 disables it [the model's]",
            metavar="X",
        ),
    ] = None
    presence_penalty: Annotated[
        float | None,
        typer.Option("--presence-penalty", help="penalty on tokens of the answer", metavar="X"),
    ] = None
    frequency_penalty: Annotated[
        float | None,
        typer.Option(
            "--frequency-penalty", help="penalty on tokens of the answer, per use", metavar="X"
        ),
    ] = None
    seed: Annotated[int | None, typer.Option("--seed", help="sampling seed", metavar="N")] = None
    stop: Annotated[
        list[str] | None,
        typer.Option("--stop", help="stop string; repeatable", metavar="TEXT"),
    ] = None
    shrinks_to_fit: bool = False  # max_tokens is our default: a full context may shorten it

    def given(self) -> dict[str, Any]:
        """Return the options that are set, by their name in the API."""
        values = {name: getattr(self, name) for name in NAMES}
        return {name: value for name, value in values.items() if value is not None}

    def changed(self, name: str, value: Any) -> SamplingOptions:
        """Return the options with one of them set, or with None left to the model.

        Raises `InvalidRequest` for a value out of range.
        """
        shrinks = self.shrinks_to_fit and name != "max_tokens"
        changed = dataclasses.replace(self, shrinks_to_fit=shrinks, **{name: value})
        SamplingParams(**changed.given())
        return changed


_SAMPLING_FIELDS = {field.name for field in dataclasses.fields(SamplingParams)}
NAMES = tuple(
    field.name for field in dataclasses.fields(SamplingOptions) if field.name in _SAMPLING_FIELDS
)
_FLAGS = {
    name: hint
    for name, hint in get_type_hints(SamplingOptions, include_extras=True).items()
    if name in NAMES
}


def parse_option(name: str, text: str) -> Any:
    """Return one option's value as typed after `/set`.

    Raises ValueError or `typer.BadParameter` for text of another type.
    """
    hint, flag = get_args(_FLAGS[name])
    kind = flag.parser or get_args(hint)[0]
    return [text] if kind == list[str] else kind(text)


def make_options(values: Mapping[str, Any]) -> SamplingOptions:
    """Return the options for the flags; None means that a flag was not typed.

    Raises `InvalidRequest` for a value out of range, before a model is loaded in vain.
    """
    typed = {name: value for name, value in values.items() if value not in (None, [])}
    options = SamplingOptions(
        **{"max_tokens": DEFAULT_MAX_TOKENS} | typed, shrinks_to_fit="max_tokens" not in typed
    )
    SamplingParams(**options.given())
    return options


def sampling_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's `options` parameter by the sampling flags."""
    own = inspect.signature(command, eval_str=True).parameters
    flags = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)
        for name, hint in _FLAGS.items()
    ]
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.items():
        parameters += flags if name == "options" else [parameter]

    @functools.wraps(command)
    def with_options(**values: Any) -> None:
        typed = {name: values.pop(name) for name in NAMES}
        command(**values, options=make_options(typed))

    keyword_only = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    with_options.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    with_options.__annotations__ = {p.name: p.annotation for p in parameters}
    del with_options.__wrapped__
    return with_options
