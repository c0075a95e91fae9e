"""One oracle and one loaded copy of each tiny model, built once and shared by all its tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
import torch

from tests.conformance.case import VOCAB_SIZE, Case, save
from tests.conformance.wrapped import WRAPPED
from tests.conformance.zoo import CASES
from yaie.config import EngineConfig
from yaie.engine.choose_executor import choose_executor
from yaie.engine.executor import Executor
from yaie.models.loader import LoadedModel, load_model

NUM_SLOTS = 512
# transformers and the tree sum in different orders.
TOLERANCE = 5e-5


@dataclass
class Subject:
    """A model under test: the oracle in eager attention, and the model loaded from its folder."""

    case: Case
    device: str
    folder: Path

    @property
    def torch_device(self) -> str:
        """The device of its tensors."""
        return "cuda" if self.device == "cuda" else "cpu"

    @cached_property
    def oracle(self) -> torch.nn.Module:
        """transformers' own model."""
        return self.case.build().to(self.torch_device)

    @cached_property
    def loaded(self) -> LoadedModel:
        """The same model through `load_model`."""
        save(self.case, self.oracle, self.folder)
        return load_model(
            EngineConfig(
                model=str(self.folder),
                num_slots=NUM_SLOTS,
                device=self.torch_device,  # type: ignore[arg-type]
            )
        )

    @cached_property
    def executor(self) -> Executor:
        """An executor whose pool all tests of this model share: stale content must not matter."""
        return choose_executor(self.loaded, "reference" if self.device == "torch" else "auto")

    def expected(self, tokens: tuple[int, ...] | list[int]) -> torch.Tensor:
        """Return the oracle's logits [tokens, vocab] for a sequence on its own."""
        return self.expected_of_all([list(tokens)])[0]

    @torch.inference_mode()
    def expected_of_all(self, sequences: list[list[int]]) -> torch.Tensor:
        """Return the oracle's logits [sequences, tokens, vocab] for sequences of equal length."""
        ids = torch.tensor(sequences, device=self.torch_device)
        logits: torch.Tensor = self.oracle(ids, use_cache=False).logits.float()
        return logits

    def tokens(self, count: int, seed: int) -> list[int]:
        """Return random tokens."""
        generator = torch.Generator().manual_seed(seed)
        return torch.randint(3, VOCAB_SIZE, (count,), generator=generator).tolist()


def close(got: torch.Tensor, expected: torch.Tensor) -> None:
    """Assert equality up to rounding, and the same most likely token except in a tie."""
    tolerance = TOLERANCE if got.device.type == "cpu" else 4 * TOLERANCE
    torch.testing.assert_close(got, expected, atol=tolerance, rtol=tolerance)
    best = expected.topk(2, dim=-1).values
    clear = best[..., 0] - best[..., 1] > 2 * tolerance
    assert torch.equal(got.argmax(-1)[clear], expected.argmax(-1)[clear])


# cpu: the kernel library, which runs some models whole and of others the attention.
# torch: plain torch on a CPU, as without a compiler.
_DEVICES = ["cpu", "torch", pytest.param("cuda", marks=pytest.mark.gpu)]
# A model of each kind, on both devices: a decoder that the library runs whole, windows and
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


@pytest.fixture(scope="session", params=_DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    return str(request.param)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most models to the integration run, and most of them in torch to the slow run."""
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        case, device = parameters.get("subject"), parameters.get("device")
        if not isinstance(case, Case) or case.name in _BY_DEFAULT.get(str(device), set()):
            continue
        slow = case.name in _KINDRED and item.originalname not in _OF_KINDRED  # type: ignore[attr-defined]
        slow = (
            slow
            or case.name in _SLOW
            or (device == "torch" and case.name not in _INTEGRATION_IN_TORCH)
        )
        item.add_marker(pytest.mark.slow if slow else pytest.mark.integration)


@pytest.fixture(scope="session", params=(*CASES, *WRAPPED), ids=lambda case: case.name)
def subject(
    request: pytest.FixtureRequest, device: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Subject]:
    case: Case = request.param
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield Subject(case, device, tmp_path_factory.mktemp(case.name))
    torch.set_num_threads(threads)
