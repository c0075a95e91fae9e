"""One oracle and one loaded copy of each tiny model, built once and shared by all its tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tests.conformance.case import Case
from tests.conformance.subject import Subject
from tests.conformance.wrapped import WRAPPED
from tests.conformance.zoo import CASES
from yaie.base.settings import AttentionBackendName

# cpu: the kernel library, which runs some models whole and of others the attention.
# torch: plain torch, as without a compiler.
_BACKENDS: dict[str, AttentionBackendName] = {"cpu": "auto", "torch": "reference"}
# A model of each kind, in both: a decoder that the library runs whole, windows and
# softcaps, sinks and experts, keys and values of different widths, learned positions.
_BY_DEFAULT = {
    "cpu": {"llama", "gemma2", "gpt-oss", "deepseek-v3", "gpt2"},
    "torch": {"llama"},
}
_INTEGRATION_IN_TORCH = {"mistral-window", "gemma2", "gpt-oss", "deepseek-v3", "gpt2"}
# Models whose attention other cases show in all tests: the integration run has the tests below of
# them, the slow run the others.
_KINDRED = {
    *("afmoe", "arcee", "cohere", "cohere2-moe", "deepseek-v2", "dots1", "ernie4-5-moe"),
    *("exaone-moe", "glm4-moe", "glm4-moe-lite", "gpt2-by-layer", "granite-hybrid", "granite-moe"),
    *("granite-moe-shared", "hy-v3", "llama-linear", "llama-mha", "llama-tied", "mellum"),
    *("minimax-m2", "mixtral", "nanochat", "olmo", "phi", "phi3-partial", "phimoe", "solar-open"),
    *("gemma4-unified", "hunyuan-alpha", "qwen2.5-vl", "muse-glimmer", "mllama", "hunyuan-moe"),
}
# Wrappers whose text part is computed by a class with a case of its own, in the slow run alone.
# tests/models/test_wrappers.py compares each with that class, number for number.
_SLOW = {case.name for case in WRAPPED} - {"qwen2.5-vl", "muse-glimmer", "mllama"}
_OF_KINDRED = {
    "test_alone",
    "test_geometry_matches_the_config",
    "test_schedules_through_the_tree",
}


@pytest.fixture(scope="session", params=_BACKENDS)
def library(request: pytest.FixtureRequest) -> str:
    """Name what computes attention and, of some models, everything."""
    return str(request.param)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most models to the integration run, and most of them in torch to the slow run."""
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        case, library = parameters.get("subject"), parameters.get("library")
        if not isinstance(case, Case) or case.name in _BY_DEFAULT.get(str(library), set()):
            continue
        slow = case.name in _KINDRED and item.originalname not in _OF_KINDRED  # type: ignore[attr-defined]
        slow = (
            slow
            or case.name in _SLOW
            or (library == "torch" and case.name not in _INTEGRATION_IN_TORCH)
        )
        item.add_marker(pytest.mark.slow if slow else pytest.mark.integration)


@pytest.fixture(scope="session", params=(*CASES, *WRAPPED), ids=lambda case: case.name)
def subject(
    request: pytest.FixtureRequest, library: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Subject]:
    case: Case = request.param
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield Subject(case, tmp_path_factory.mktemp(case.name), backend=_BACKENDS[library])
    torch.set_num_threads(threads)
