"""YAIE: an LLM inference engine in which the radix tree is the engine.

`from yaie import LLM, SamplingParams` is the Python API. `import yaie` alone is cheap: names are
imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yaie.config import EngineConfig
    from yaie.errors import YaieError
    from yaie.llm import LLM
    from yaie.outputs import CompletionOutput, RequestOutput, StreamPiece
    from yaie.python.prompt_output import PromptOutput
    from yaie.text.parts import ToolCall
    from yaie.types import Grammar, SamplingParams

    __version__: str

__all__ = [
    "LLM",
    "CompletionOutput",
    "EngineConfig",
    "Grammar",
    "PromptOutput",
    "RequestOutput",
    "SamplingParams",
    "StreamPiece",
    "ToolCall",
    "YaieError",
    "__version__",
]

_HOMES = {
    "LLM": "yaie.llm",
    "CompletionOutput": "yaie.outputs",
    "EngineConfig": "yaie.config",
    "Grammar": "yaie.types",
    "PromptOutput": "yaie.python.prompt_output",
    "RequestOutput": "yaie.outputs",
    "SamplingParams": "yaie.types",
    "StreamPiece": "yaie.outputs",
    "ToolCall": "yaie.text.parts",
    "YaieError": "yaie.errors",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("yaie")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
