"""The structure of the code, read from its source: imports go down only, torch is kept apart.

The floors are those of docs/internals/architecture.md.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tests.light_transformers import needs_light_transformers

ROOT = Path(__file__).resolve().parents[1]

FLOORS = {
    "yaie.base": 0,
    "yaie.process": 0,
    "yaie.text": 1,
    "yaie.kvcache": 2,
    "yaie.kernels": 2,
    "yaie.device": 2,
    "yaie.attention": 3,
    # models
    "yaie.models.builtin": 10,
    "yaie.models.files": 10,
    "yaie.models.architecture": 11,
    "yaie.models.adapters": 11,
    "yaie.models.quantization": 12,
    "yaie.models.native": 13,
    "yaie.models.fused": 14,
    "yaie.models.load": 15,
    "yaie.models": 15,
    # the engine
    "yaie.engine.reasoning_budget": 20,
    "yaie.engine.sampling_state": 20,
    "yaie.engine.grammar": 20,
    "yaie.engine.request": 21,
    "yaie.engine.scheduled_step": 22,
    "yaie.engine.sampling": 23,
    "yaie.engine.queue": 23,
    "yaie.engine.drafts": 23,
    "yaie.engine.step": 24,
    "yaie.engine.execution": 25,
    "yaie.engine": 26,
    # doors
    "yaie.client": 30,
    "yaie.api": 31,
    "yaie.compat": 32,
    "yaie.remote": 32,
    "yaie.bench": 33,
    "yaie.batch": 33,
    # the server
    "yaie.server.metrics": 40,
    "yaie.server.schemas": 41,
    "yaie.server.http": 42,
    "yaie.server.requests": 43,
    "yaie.server.replies": 44,
    "yaie.server.anthropic": 45,
    "yaie.server.responses_api": 45,
    "yaie.server.models": 46,
    "yaie.server.ollama": 46,
    "yaie.server.explain": 47,
    "yaie.server.ops": 47,
    "yaie.server.batches": 47,
    "yaie.server.ui": 47,
    "yaie.server.routes": 48,
    "yaie.server": 49,
    "yaie.ray.block_index": 3,
    "yaie.ray.radix_placement": 4,
    "yaie.ray": 49,
    "yaie.cli": 50,
    "yaie": 51,  # the package itself hands out names of all floors, when they are asked for
    "server": 52,  # nothing in yaie imports it
}
# Imported without torch: the floors of values and text, the client, and every door.
LIGHT = (
    "yaie.base",
    "yaie.process",
    "yaie.text",
    "yaie.client",
    "yaie.batch",
    "yaie.server",
    "yaie.cli",
    "server",
)
# Thinking only: no torch, no clock, no input or output.
PURE = (
    "yaie.base.types",
    "yaie.base.stats",
    "yaie.base.sampling_fields",
    "yaie.base.errors",
    "yaie.base.queries",
    "yaie.base.cache_changes",
    "yaie.kvcache.node",
    "yaie.kvcache.slots",
    "yaie.kvcache.match",
    "yaie.kvcache.release",
    "yaie.kvcache.tree_edits",
    "yaie.kvcache.radix_tree",
    "yaie.kvcache.unary_chain",
    "yaie.kvcache.eviction",
    "yaie.kvcache.block_names",
    "yaie.kvcache.cache_events",
    "yaie.kvcache.ghosts",
    "yaie.kvcache.eviction_log",
    "yaie.kvcache.explain",
    "yaie.kvcache.largest_branches",
    "yaie.kvcache.tree_view",
    "yaie.kvcache.adaptive_eviction",
    "yaie.kvcache.audit",
    "yaie.attention.plan",
    "yaie.attention.row_selection",
    "yaie.attention.incremental_plan",
    "yaie.attention.segment_table",
    "yaie.attention.segment_tiles",
    "yaie.attention.cost_model",
    "yaie.attention.tree_decode.work_items",
    "yaie.attention.tree_decode.step_metadata",
    "yaie.attention.tree_decode.variants",
    "yaie.engine.request",
    "yaie.engine.loop",
    "yaie.engine.queue.policy_protocol",
    "yaie.engine.queue.queue_limits",
    "yaie.engine.queue.scored_policy",
    "yaie.engine.queue.match_cache",
    "yaie.engine.queue.policies",
    "yaie.engine.queue.prefix_aware",
    "yaie.engine.queue.tenant_shares",
    "yaie.engine.queue.wait_stats",
    "yaie.engine.query_answers",
    "yaie.engine.step.preemption",
    "yaie.engine.scheduled_step",
    "yaie.engine.step.prompt_outputs",
    "yaie.engine.step.batch_builder",
    "yaie.engine.step.incremental_step",
    "yaie.engine.scheduler",
    "yaie.engine.scheduled_step",
    "yaie.engine.step.batch_builder",
    "yaie.engine.validation",
    "yaie.engine.reasoning_budget",
    "yaie.engine.sampling_state",
    "yaie.engine.grammar.matcher",
    "yaie.engine.grammar.source_limits",
    "yaie.device.buckets",
    "yaie.engine.sampling.masked_sampling",
    "yaie.text.stops",
    "yaie.client.submission",
)
IMPURE_IMPORTS = {
    *("torch", "transformers", "tokenizers", "safetensors", "huggingface_hub"),
    *("time", "datetime", "random", "secrets", "threading", "asyncio", "multiprocessing"),
    *("os", "io", "pathlib", "shutil", "tempfile", "socket", "subprocess", "requests", "logging"),
}
HEAVY = {"torch", "flashinfer", "triton"}
UNSAFE_IMPORTS = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
VAGUE_NAMES = ("util", "utils", "helper", "helpers", "manager", "misc", "common_utils")


@dataclass(frozen=True)
class Import:
    """One imported module; `is_late` in a function or under TYPE_CHECKING."""

    target: str
    line: int
    is_late: bool


def source_files() -> list[Path]:
    return sorted(path for package in ("yaie", "server") for path in (ROOT / package).rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    return {module_name(path): path for path in source_files()}


@cache
def tree_of(name: str) -> ast.Module:
    return ast.parse(modules()[name].read_text(), filename=str(modules()[name]))


@cache
def imports_of(name: str) -> tuple[Import, ...]:
    return tuple(_imports(tree_of(name), name, late=False))


def _imports(node: ast.AST, name: str, *, late: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, child.lineno, late)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"{name}:{child.lineno} imports relatively"
            assert child.module is not None
            for alias in child.names:
                full = f"{child.module}.{alias.name}"
                yield Import(full if full in modules() else child.module, child.lineno, late)
        else:
            is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for_types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            yield from _imports(child, name, late=late or is_function or for_types)


def floor_of(name: str) -> int | None:
    """Return the floor of one of our modules; None for other packages."""
    while name:
        if name in FLOORS:
            return FLOORS[name]
        name = name.rpartition(".")[0]
    return None


def is_light(name: str) -> bool:
    return any(name == each or name.startswith(each + ".") for each in LIGHT)


def loaded_with(name: str) -> dict[str, list[str]]:
    """Return all modules that importing `name` loads, each with the chain of imports to it."""
    chains: dict[str, list[str]] = {name: [name]}
    queue = [name]
    while queue:
        current = queue.pop()
        for imported in imports_of(current):
            if imported.is_late:
                continue
            parents = imported.target.split(".")
            for end in range(1, len(parents) + 1):  # importing a.b imports a too
                target = ".".join(parents[:end])
                if target in chains:
                    continue
                chains[target] = [*chains[current], target]
                if target in modules():
                    queue.append(target)
    return chains


def test_the_test_sees_the_code() -> None:
    assert {"yaie.api.llm", "yaie.engine.core", "yaie.client", "server.api"} <= set(modules())
    assert any(i.target == "torch" and not i.is_late for i in imports_of("yaie.kvcache.pool"))
    late = [i for i in imports_of("yaie.client.core_loading") if i.target == "yaie.engine.core"]
    assert late and all(i.is_late for i in late)
    assert "torch" in loaded_with("yaie.engine.core")
    assert loaded_with("yaie.models.load.loader")["torch"][0] == "yaie.models.load.loader"


def test_every_module_is_on_a_floor() -> None:
    lost = [name for name in modules() if floor_of(name) is None]
    assert not lost, f"add them to FLOORS and to docs/internals/architecture.md: {lost}"


def test_imports_go_down_only() -> None:
    upward = [
        f"{name}:{imported.line} (floor {own}) imports {imported.target} (floor {floor})"
        for name in modules()
        if (own := floor_of(name)) is not None
        for imported in imports_of(name)
        if imported.target != "yaie"
        and (floor := floor_of(imported.target)) is not None
        and floor > own
    ]
    assert not upward, "\n".join(upward)


@pytest.mark.parametrize("name", PURE)
def test_pure_files_do_no_input_or_output(name: str) -> None:
    found = {imported.target.split(".")[0] for imported in imports_of(name)}
    assert not found & IMPURE_IMPORTS
    calls = {
        node.func.id
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"open", "print", "input", "exec", "eval"}
    of_msgspec = {
        node.attr
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "msgspec"
    }
    assert of_msgspec <= {"Struct"}, "encoding and decoding belong to the client"
    for other in loaded_with(name):
        assert other.split(".")[0] not in HEAVY | {"transformers"}


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in modules()
        if is_light(name)
        or name
        in ("yaie", "yaie.api.llm", "yaie.api.prompts", "yaie.api.outputs", "yaie.api.local_engine")
    ],
)
def test_entry_points_and_clients_import_no_torch(name: str) -> None:
    chains = loaded_with(name)
    for heavy in HEAVY:
        assert heavy not in chains, " -> ".join(chains[heavy])


@needs_light_transformers
@pytest.mark.integration
def test_importing_entry_points_loads_no_torch() -> None:
    """Check in a real process, other packages included."""
    doors = sorted(name for name in modules() if is_light(name) and not name.endswith("__main__"))
    script = (
        "import sys, importlib\n"
        f"for name in {[*doors, 'yaie.api.llm']!r}:\n"
        "    importlib.import_module(name)\n"
        "    assert 'torch' not in sys.modules, name\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


@needs_light_transformers
@pytest.mark.integration
def test_names_of_yaie_are_loaded_on_first_use() -> None:
    script = (
        "import sys\n"
        "import yaie\n"
        "ours = [name for name in sys.modules if name.startswith('yaie.')]\n"
        "assert not ours, ours\n"
        "assert not {'torch', 'transformers', 'pydantic', 'numpy'} & set(sys.modules)\n"
        "from yaie import AsyncClient, Client\n"
        "assert not {'torch', 'transformers', 'tokenizers', 'numpy'} & set(sys.modules)\n"
        "from yaie import LLM, SamplingParams\n"
        "assert LLM.__module__ == 'yaie.api.llm'\n"
        "assert SamplingParams.__module__ == 'yaie.base.types'\n"
        "assert not {'torch', 'transformers', 'numpy'} & set(sys.modules)\n"
        "from yaie import *\n"
        "assert all(name in globals() for name in yaie.__all__)\n"
        "assert {each for each in dir(yaie) if each[:2] != '__'} < set(yaie.__all__)\n"
        "assert set(yaie.__all__) < set(dir(yaie))\n"
        "assert yaie.__version__.count('.') == 2\n"
        "assert not hasattr(yaie, 'no_such_name')\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


@pytest.mark.parametrize("name", [n for n in modules() if "__all__" in modules()[n].read_text()])
def test_every_name_in_all_exists(name: str) -> None:
    module = import_module(name)
    assert len(set(module.__all__)) == len(module.__all__)
    for promised in module.__all__:
        assert hasattr(module, promised), promised


def test_modules_avoid_unpickling_and_vague_names() -> None:
    for name in modules():
        assert not {i.target.split(".")[0] for i in imports_of(name)} & UNSAFE_IMPORTS, name
        assert name.rpartition(".")[2] not in VAGUE_NAMES, name
        assert ast.get_docstring(tree_of(name)), f"{name} does not say what it is for"
