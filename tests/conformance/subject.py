"""A tiny model under test, beside transformers' own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch

from tests.conformance.case import VOCAB_SIZE, Case, save
from yaie.base.settings import AttentionBackendName, EngineConfig
from yaie.engine.execution.executor import Executor
from yaie.engine.execution.executor_choice import choose_executor
from yaie.models.architecture.loaded_model import LoadedModel
from yaie.models.load.loader import load_model

NUM_SLOTS = 512
# transformers and the tree sum in different orders.
TOLERANCE = 5e-5


@dataclass
class Subject:
    """A model under test: the oracle in eager attention, and the model loaded from its folder."""

    case: Case
    folder: Path
    device: str = "cpu"
    backend: AttentionBackendName = "auto"

    @cached_property
    def oracle(self) -> torch.nn.Module:
        """transformers' own model."""
        return self.case.build().to(self.device)

    @cached_property
    def loaded(self) -> LoadedModel:
        """The same model through `load_model`."""
        save(self.case, self.oracle, self.folder)
        return load_model(
            EngineConfig(
                model=str(self.folder),
                num_slots=NUM_SLOTS,
                device=self.device,  # type: ignore[arg-type]
            )
        )

    @cached_property
    def executor(self) -> Executor:
        """An executor whose pool all tests of this model share: stale content must not matter."""
        return choose_executor(self.loaded, self.backend)

    def expected(self, tokens: tuple[int, ...] | list[int]) -> torch.Tensor:
        """Return the oracle's logits [tokens, vocab] for a sequence on its own."""
        return self.expected_of_all([list(tokens)])[0]

    @torch.inference_mode()
    def expected_of_all(self, sequences: list[list[int]]) -> torch.Tensor:
        """Return the oracle's logits [sequences, tokens, vocab] for sequences of equal length."""
        ids = torch.tensor(sequences, device=self.device)
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
