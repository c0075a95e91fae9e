"""Every argument of the attention function is used, ignored by name, or refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from yaie.base.errors import ModelUnsupported
from yaie.models.architecture.attention_hook import (
    IGNORED_KEYWORDS,
    STEP_KEYWORD,
    LayerArguments,
    attend,
    passing,
)


class Recorder:
    """A `LayerExecutor` that records its arguments."""

    def attend(
        self,
        module: torch.nn.Module,
        queries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        arguments: LayerArguments,
    ) -> torch.Tensor:
        del module, keys, values
        self.arguments = arguments
        return queries.transpose(1, 2)


def call(mask: torch.Tensor | None = None, **keywords: Any) -> LayerArguments:
    recorder = Recorder()
    queries = torch.zeros(1, 2, 3, 16)
    module = keywords.pop("module", torch.nn.Identity())
    keywords.setdefault("yaie_step", recorder)
    output, weights = attend(module, queries, queries, queries, mask, **keywords)
    assert output.shape == (1, 3, 2, 16)
    assert weights is None
    return recorder.arguments


def test_arguments_reach_the_step() -> None:
    sinks = torch.zeros(2)
    asked = call(scaling=0.5, sliding_window=7, softcap=3.0, s_aux=sinks, dropout=0.0)
    assert asked == (0.5, 7, 3.0, sinks)


def test_a_model_that_drops_keywords_attends_in_the_current_step() -> None:
    recorder = Recorder()
    queries = torch.zeros(1, 2, 3, 16)
    with passing(recorder) as step:
        assert step == {STEP_KEYWORD: recorder}
        attend(torch.nn.Identity(), queries, queries, queries, None, scaling=0.5)
    assert recorder.arguments.scale == 0.5
    with pytest.raises(ModelUnsupported, match="outside a step"):
        attend(torch.nn.Identity(), queries, queries, queries, None)


def test_default_scale() -> None:
    assert call() == (0.25, None, None, None)


@pytest.mark.parametrize("name", sorted(IGNORED_KEYWORDS))
def test_keywords_without_effect_are_ignored(name: str) -> None:
    call(**{name: torch.zeros(1)})


def test_keywords_that_are_none_are_ignored() -> None:
    call(something_new=None, is_causal=True)


@pytest.mark.parametrize(
    ("keywords", "reason"),
    [
        ({"something_new": 3}, "passes something_new=3"),
        ({"cu_seq_lens_q": torch.zeros(4)}, r"cu_seq_lens_q=tensor of shape \[4\]"),
        ({"is_causal": False}, "passes is_causal=False"),
        ({"dropout": 0.1}, "dropout"),
        ({"mask": torch.zeros(1, 1, 3, 3)}, "passes its own attention mask"),
        ({"yaie_step": None}, "attention outside a step"),
    ],
)
def test_arguments_that_change_the_result_are_refused(
    keywords: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ModelUnsupported, match=reason):
        call(**keywords)


def test_a_bidirectional_module_is_refused() -> None:
    module = torch.nn.Identity()
    module.is_causal = False  # type: ignore[assignment]
    with pytest.raises(ModelUnsupported, match="not causal"):
        call(module=module)
