"""YAIE: an LLM inference engine in which the radix tree is the engine.

`from yaie import LLM, SamplingParams` is the Python API. `import yaie` alone is cheap: names are
imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yaie.api.async_llm import AsyncLLM
    from yaie.api.fork import Fork
    from yaie.api.llm import LLM, Engine
    from yaie.api.outputs import (
        CompletionOutput,
        GenerationOutput,
        RequestOutput,
        StreamPiece,
    )
    from yaie.api.prompt_output import PromptOutput, ReturnSample
    from yaie.api.ranked_choice import Choice
    from yaie.api.warmup_config import WarmupConfig
    from yaie.base.errors import YaieError
    from yaie.base.sampling_fields import StructuredOutputsParams
    from yaie.base.settings import EngineConfig
    from yaie.base.types import Grammar, SamplingParams
    from yaie.compat.adapter import EngineAdapter, InferenceEngine, InferenceEngineAdapter
    from yaie.remote.async_client import AsyncClient
    from yaie.remote.client import Client
    from yaie.server.api_server import ApiServer
    from yaie.server.routes.endpoint_registry import EndpointConfig
    from yaie.text.output_parts import ToolCall

    __version__: str

__all__ = [
    "LLM",
    "ApiServer",
    "AsyncClient",
    "AsyncLLM",
    "Choice",
    "Client",
    "CompletionOutput",
    "EndpointConfig",
    "Engine",
    "EngineAdapter",
    "EngineConfig",
    "Fork",
    "GenerationOutput",
    "Grammar",
    "InferenceEngine",
    "InferenceEngineAdapter",
    "PromptOutput",
    "RequestOutput",
    "ReturnSample",
    "SamplingParams",
    "StreamPiece",
    "StructuredOutputsParams",
    "ToolCall",
    "WarmupConfig",
    "YaieError",
    "__version__",
]

_HOMES = {
    "LLM": "yaie.api.llm",
    "ApiServer": "yaie.server.api_server",
    "AsyncClient": "yaie.remote.async_client",
    "AsyncLLM": "yaie.api.async_llm",
    "Choice": "yaie.api.ranked_choice",
    "Client": "yaie.remote.client",
    "CompletionOutput": "yaie.api.outputs",
    "Engine": "yaie.api.llm",
    "EndpointConfig": "yaie.server.routes.endpoint_registry",
    "EngineAdapter": "yaie.compat.adapter",
    "EngineConfig": "yaie.base.settings",
    "Fork": "yaie.api.fork",
    "GenerationOutput": "yaie.api.outputs",
    "Grammar": "yaie.base.types",
    "InferenceEngine": "yaie.compat.adapter",
    "InferenceEngineAdapter": "yaie.compat.adapter",
    "PromptOutput": "yaie.api.prompt_output",
    "RequestOutput": "yaie.api.outputs",
    "ReturnSample": "yaie.api.prompt_output",
    "SamplingParams": "yaie.base.types",
    "StreamPiece": "yaie.api.outputs",
    "StructuredOutputsParams": "yaie.base.sampling_fields",
    "ToolCall": "yaie.text.output_parts",
    "WarmupConfig": "yaie.api.warmup_config",
    "YaieError": "yaie.base.errors",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from yaie.base.own_package import read_version

        return read_version()
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
