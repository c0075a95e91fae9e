"""`RequestDefaults`: what the operator decides for requests that leave it open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from yaie.base.default_sampling import parse_default_sampling
from yaie.base.errors import UnsupportedParameter
from yaie.base.server_settings import ServerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDefaults:
    """Settings that change how bodies become requests."""

    max_tokens: int | None = None  # None: 16 for texts, the rest of the context for chats
    sampling: Mapping[str, int | float] = field(default_factory=dict)
    model_sampling: bool = True  # the model's recommendations count
    tools: bool = True

    @classmethod
    def of(cls, settings: ServerConfig) -> Self:
        """Return the defaults of the settings."""
        return cls(
            max_tokens=settings.default_max_tokens,
            sampling=parse_default_sampling(settings.default_sampling),
            model_sampling=settings.model_sampling,
            tools=settings.tools,
        )

    def sampling_of(self, recommended: Mapping[str, int | float]) -> dict[str, int | float]:
        """Return the default sampling for a model with these recommendations."""
        return {**(recommended if self.model_sampling else {}), **self.sampling}

    def check_tools(self, tools: object) -> None:
        """Raise `UnsupportedParameter` for tools if they are switched off."""
        if tools and not self.tools:
            raise UnsupportedParameter(
                "tools are disabled on this server; omit them", param="tools"
            )
