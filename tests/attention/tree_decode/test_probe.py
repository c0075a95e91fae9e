"""The probe of the kernels, by backends that fail, err or compute right."""

from __future__ import annotations

import pytest
import torch

from yaie.attention.plan import StepPlan
from yaie.attention.reference import ReferenceBackend, ReferenceStep
from yaie.attention.spec import AttentionSpec
from yaie.attention.tree_decode.probe import probe_layers
from yaie.errors import ConfigError

CPU = torch.device("cpu")
SPEC = AttentionSpec(layer=3, num_heads=4, num_kv_heads=2, key_width=8, value_width=8, scale=0.3)


def probe(backend: ReferenceBackend) -> None:
    probe_layers(backend, [SPEC], torch.float32, torch.float32, CPU)


def test_a_right_backend_passes() -> None:
    probe(ReferenceBackend())


def test_a_failure_is_one_line_with_its_reason() -> None:
    class NoCompiler(ReferenceBackend):
        def prepare(self, plan: StepPlan, device: torch.device) -> ReferenceStep:
            raise RuntimeError("Failed to find C compiler.\nmore")

    with pytest.raises(ConfigError) as caught:
        probe(NoCompiler())
    assert "(Failed to find C compiler.)" in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("wrong", [0.5, float("nan")])
def test_wrong_values_are_refused(monkeypatch: pytest.MonkeyPatch, wrong: float) -> None:
    real = ReferenceStep.attend
    monkeypatch.setattr(ReferenceStep, "attend", lambda *given: real(*given) * wrong)
    with pytest.raises(ConfigError, match="wrong values for heads of 8"):
        probe(ReferenceBackend())
