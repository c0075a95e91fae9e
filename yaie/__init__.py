"""YAIE: an LLM inference engine in which the radix tree is the engine.

`from yaie import LLM, SamplingParams` is the Python API. `import yaie` alone is cheap: names are
imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from server.api_server import ApiServer
    from server.endpoints import EndpointConfig
    from yaie.config import EngineConfig
    from yaie.errors import YaieError
    from yaie.llm import LLM, Engine
    from yaie.outputs import CompletionOutput, GenerationOutput, RequestOutput, StreamPiece
    from yaie.python.adapter import EngineAdapter, InferenceEngineAdapter
    from yaie.python.async_llm import AsyncLLM
    from yaie.python.choose import Choice
    from yaie.python.fork import Fork
    from yaie.python.inference_engine import InferenceEngine
    from yaie.python.prompt_output import PromptOutput, ReturnSample
    from yaie.python.warm_up import WarmupConfig
    from yaie.remote.async_client import AsyncClient
    from yaie.remote.client import Client
    from yaie.text.parts import ToolCall
    from yaie.types import Grammar, SamplingParams

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
    "ToolCall",
    "WarmupConfig",
    "YaieError",
    "__version__",
]

_HOMES = {
    "LLM": "yaie.llm",
    "ApiServer": "server.api_server",
    "AsyncClient": "yaie.remote.async_client",
    "AsyncLLM": "yaie.python.async_llm",
    "Choice": "yaie.python.choose",
    "Client": "yaie.remote.client",
    "CompletionOutput": "yaie.outputs",
    "Engine": "yaie.llm",
    "EndpointConfig": "server.endpoints",
    "EngineAdapter": "yaie.python.adapter",
    "EngineConfig": "yaie.config",
    "Fork": "yaie.python.fork",
    "GenerationOutput": "yaie.outputs",
    "Grammar": "yaie.types",
    "InferenceEngine": "yaie.python.inference_engine",
    "InferenceEngineAdapter": "yaie.python.adapter",
    "PromptOutput": "yaie.python.prompt_output",
    "RequestOutput": "yaie.outputs",
    "ReturnSample": "yaie.python.prompt_output",
    "SamplingParams": "yaie.types",
    "StreamPiece": "yaie.outputs",
    "ToolCall": "yaie.text.parts",
    "WarmupConfig": "yaie.python.warm_up",
    "YaieError": "yaie.errors",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from yaie.own_version import read_version

        return read_version()
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
