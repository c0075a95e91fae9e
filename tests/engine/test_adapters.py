"""LoRA adapters in an engine: several and the model alone in one batch, against merged weights."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.adapters import greedy, merge, write_adapter
from tests.engine.fake_model import make_prompt
from yaie.attention.plan import StepPlan
from yaie.attention.segment_table import Segment
from yaie.base.errors import InvalidRequest, StartupError, UnknownModel
from yaie.base.queries import AdapterChanged, ExplainPrompt, Explanation, LoadAdapter, UnloadAdapter
from yaie.base.settings import EngineConfig
from yaie.base.types import ExpectedPrompt, GenerationRequest, SamplingParams
from yaie.engine.core import EngineCore
from yaie.kvcache.namespaces import adapter_of, namespace_of
from yaie.models.adapters.adapted_modules import adapter_ranges

NAMES = ("", "a", "b", "c")
SCALES = {"a": 2.0, "b": 2.0, "c": 8 / 3}  # c: 8 / sqrt(9)
NUM_NEW = 6
TOLERANCE = 1e-4


def load_plain(folder: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder).float().eval()


@pytest.fixture(scope="module")
def adapters(tiny_model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of adapters: of all layers, of some, and rank-stabilized."""
    folder, model = tmp_path_factory.mktemp("adapters"), load_plain(tiny_model_dir)
    write_adapter(folder / "a", model, seed=1)
    write_adapter(folder / "b", model, seed=2, layers=("q_proj", "down_proj"))
    write_adapter(folder / "c", model, seed=3, rank=9, lora_alpha=8, use_rslora=True)
    return folder


@pytest.fixture(scope="module")
def merged(tiny_model_dir: Path, adapters: Path) -> dict[str, Any]:
    """Return the plain models by adapter."""
    found = {name: load_plain(tiny_model_dir) for name in NAMES}
    for name, scale in SCALES.items():
        merge(found[name], adapters / name, scale)
    return found


@pytest.fixture(scope="module", params=["native", "transformers"])
def engine(
    tiny_model_dir: Path, adapters: Path, request: pytest.FixtureRequest
) -> Iterator[EngineCore]:
    core = EngineCore(
        EngineConfig(
            model=str(tiny_model_dir),
            dtype="float32",
            num_slots=2048,
            max_step_rows=64,
            lora=str(adapters),
            audit=True,
            attention_backend="auto" if request.param == "native" else "reference",
        )
    )
    assert core.executor.name == request.param
    yield core
    core.close()


def request(name: str, tokens: Iterable[int], adapter: str, **fields: Any) -> GenerationRequest:
    sampling = SamplingParams(max_tokens=NUM_NEW, temperature=0, ignore_eos=True, logprobs=0)
    return GenerationRequest(
        request_id=name,
        prompt_token_ids=tuple(tokens),
        sampling=sampling,
        adapter=adapter,
        **fields,
    )


Answers = dict[str, tuple[list[int], list[float]]]


def run(core: EngineCore) -> Answers:
    answers: Answers = {}
    while core.has_work:
        for delta in core.step():
            assert delta.error is None, delta.error
            tokens, logprobs = answers.setdefault(delta.request_id, ([], []))
            tokens += delta.token_ids
            logprobs += [each.logprob for each in delta.logprobs]
    return answers


def test_each_adapter_in_a_batch_equals_merged_weights(
    engine: EngineCore, merged: dict[str, Any]
) -> None:
    shared = make_prompt(0, 90)  # longer than a step, and the same for every adapter
    prompts = {f"{name}-{length}": shared[:length] for name in NAMES for length in (90, 17, 1)}
    for way in ("cold", "warm"):
        for name, tokens in prompts.items():
            engine.add(request(name, tokens, name.partition("-")[0]))
        answers = run(engine)
        for name, tokens in prompts.items():
            model = merged[name.partition("-")[0]]
            wanted = greedy(model, tokens, NUM_NEW)
            found, logprobs = answers[name]
            assert found == wanted, (way, name)
            with torch.no_grad():
                all_logits = model(torch.tensor([[*tokens, *wanted]])).logits[0]
            plain = torch.log_softmax(all_logits[len(tokens) - 1 : -1], -1)
            expected = plain[range(NUM_NEW), wanted]
            assert torch.tensor(logprobs) == pytest.approx(expected, abs=TOLERANCE)


def test_rows_of_the_model_alone_keep_their_bits_beside_adapters(engine: EngineCore) -> None:
    def compute(adapters: list[int]) -> torch.Tensor:
        rows = np.arange(4)
        slots = 2040 + rows  # free ones
        plan = StepPlan(
            token_ids=5 + rows,
            positions=0 * rows,
            slots=slots,
            written_rows=rows,
            logit_rows=rows,
            segments=[Segment(slots[row : row + 1], 0, row, row + 1, level=0) for row in range(4)],
            kv_tokens_read=4,
            kv_tokens_unshared=4,
            adapters=np.array(adapters, dtype=np.int64),
        )
        return engine.executor.execute(plan).clone()

    numbers = [adapter_of(engine.adapters.namespace_of(request("", (1,), name))) for name in NAMES]
    alone, mixed = compute([]), compute([0, numbers[1], 0, numbers[2]])
    assert torch.equal(alone[[0, 2]], mixed[[0, 2]])
    assert not torch.isclose(alone[[1, 3]], mixed[[1, 3]]).all(dim=1).any()
    assert torch.equal(compute([0, 0, 0, 0]), alone)


def test_an_adapter_has_its_own_part_of_the_cache(engine: EngineCore) -> None:
    tokens = make_prompt(7, 40)
    for name, num_held in (("a", 0), ("a", 40), ("b", 0), ("", 0)):
        query = ExplainPrompt(token_ids=tuple(tokens), adapter=name)
        found = engine.answer(query)
        assert isinstance(found, Explanation)
        assert found.num_held == num_held, name
        engine.add(request("r", tokens, name))
        run(engine)
    assert engine.answer(ExplainPrompt(token_ids=tuple(tokens), adapter="c")) != found


def test_an_expected_prompt_is_computed_with_its_adapter(
    engine: EngineCore, merged: dict[str, Any]
) -> None:
    tokens = make_prompt(8, 30)
    engine.expect(ExpectedPrompt(token_ids=tuple(tokens), adapter="b"))
    engine.expect(ExpectedPrompt(token_ids=tuple(tokens), adapter="unknown"))
    while engine.use_idle_moment():
        pass
    found = engine.answer(ExplainPrompt(token_ids=tuple(tokens), adapter="b"))
    assert isinstance(found, Explanation)
    assert found.num_held == 30
    engine.add(request("r", tokens, "b"))
    assert run(engine)["r"][0] == greedy(merged["b"], tokens, NUM_NEW)


def test_an_adapter_is_loaded_used_and_unloaded_while_requests_run(
    engine: EngineCore, adapters: Path, merged: dict[str, Any]
) -> None:
    tokens = make_prompt(9, 20)
    with pytest.raises(UnknownModel, match=r"'late' is not loaded; this engine has 'a', 'b', 'c'"):
        engine.add(request("r", tokens, "late"))
    found = engine.answer(LoadAdapter("late", str(adapters / "c")))
    assert isinstance(found, AdapterChanged)
    assert (found.adapter.rank, found.adapter.num_layers) == (9, 14)
    with pytest.raises(InvalidRequest, match="is loaded already; unload it"):
        engine.answer(LoadAdapter("late", str(adapters / "a")))
    engine.add(request("r", tokens, "late"))
    begun = [token for delta in engine.step() for token in delta.token_ids]
    engine.answer(UnloadAdapter("late"))
    with pytest.raises(UnknownModel):
        engine.add(request("s", tokens, "late"))
    assert begun + run(engine)["r"][0] == greedy(merged["c"], tokens, NUM_NEW)


def test_unloaded_weights_are_freed_after_their_last_request(
    tiny_model_dir: Path, adapters: Path
) -> None:
    core = EngineCore(
        EngineConfig(model=str(tiny_model_dir), num_slots=512, lora=f"x={adapters / 'a'}")
    )
    core.add(request("r", (5, 6), "x"))
    core.step()
    core.answer(UnloadAdapter("x"))
    assert core.adapters.has_retired
    run(core)
    core.add(request("s", (5, 6), ""))
    run(core)
    assert not core.adapters.has_retired
    # An engine that lost an adapter in a restart loads it for the next request.
    core.add(request("t", (5, 6), "x", adapter_path=str(adapters / "a")))
    run(core)
    assert [each.name for each in core.adapters.infos] == ["x"]
    core.close()


def test_a_request_gets_the_adapter_of_its_path(
    engine: EngineCore, adapters: Path, merged: dict[str, Any]
) -> None:
    """A restarted engine has the folder that the settings name, and another one is served."""
    tokens = make_prompt(10, 20)
    engine.answer(LoadAdapter("moved", str(adapters / "a")))
    for name in ("a", "b", "b"):
        engine.add(request("r", tokens, "moved", adapter_path=f"{adapters / name}/"))
        assert run(engine)["r"][0] == greedy(merged[name], tokens, NUM_NEW)
    engine.answer(UnloadAdapter("moved"))


@pytest.mark.parametrize("name", ["", " ", "a ", "a\nb", "\x1b[2J"])
def test_a_name_without_a_picture_is_refused(engine: EngineCore, adapters: Path, name: str) -> None:
    with pytest.raises(InvalidRequest, match="choose another name"):
        engine.answer(LoadAdapter(name, str(adapters / "a")))


@pytest.mark.parametrize("quantization", ["int8", "int4"])
@pytest.mark.parametrize("backend", ["auto", "reference"])
def test_a_quantized_model_takes_adapters_in_float(
    tiny_model_dir: Path, adapters: Path, quantization: Any, backend: Any, merged: dict[str, Any]
) -> None:
    """Rounded weights cost the same accuracy with an adapter as without it."""
    core = EngineCore(
        EngineConfig(
            model=str(tiny_model_dir),
            num_slots=512,
            dtype="float32",
            lora=str(adapters),
            quantization=quantization,
            calibrate="none" if quantization == "int4" else None,
            attention_backend=backend,
        )
    )
    tokens = make_prompt(4, 20)
    errors = {}
    for name in ("", "a"):
        core.add(request(name, tokens, name))
    for delta_name, (found, logprobs) in run(core).items():
        with torch.no_grad():
            logits = merged[delta_name](torch.tensor([[*tokens, *found]])).logits[0]
        plain = torch.log_softmax(logits[len(tokens) - 1 : -1], -1)[range(NUM_NEW), found]
        errors[delta_name] = float((plain - torch.tensor(logprobs)).abs().mean())
    assert errors["a"] < 0.1 + 3 * errors[""]
    core.close()


def test_a_layer_returns_the_rows_of_an_adapter_with_its_product(
    tiny_model_dir: Path, adapters: Path
) -> None:
    config = EngineConfig(
        model=str(tiny_model_dir),
        num_slots=512,
        dtype="float32",
        lora=str(adapters),
        quantization="int8",
        attention_backend="reference",
    )
    core = EngineCore(config)
    adapted: Any = core.executor.adapted
    name = "model.layers.0.mlp.down_proj"
    layer: Any = adapted._modules[name]
    number, low_rank = next(iter(adapted._layers[name].items()))
    x = torch.randn(1, 3, layer.in_features)
    plain = layer(x)
    adapted.begin(np.array([0, number, 0]))
    changed = layer(x)
    adapted._ranges = []
    assert torch.equal(changed[0, [0, 2]], plain[0, [0, 2]])
    product = x[0, 1] @ low_rank.down.T @ low_rank.up.T
    assert torch.allclose(changed[0, 1] - plain[0, 1], product, atol=1e-5)
    core.close()


def test_batch_invariant_engines_refuse_adapters(tiny_model_dir: Path, adapters: Path) -> None:
    with pytest.raises(StartupError, match="adapter"):
        EngineCore(EngineConfig(model=str(tiny_model_dir), lora=str(adapters), exact=True))


def test_a_layer_that_the_model_does_not_call_is_found(engine: EngineCore) -> None:
    adapted: Any = engine.executor.adapted
    if engine.executor.name == "native":
        pytest.skip("the kernel library calls every layer")
    number = 12345
    adapted._unseen[number] = {"model.layers.0.mlp.up_proj"}
    adapted.begin(np.array([number]))
    with pytest.raises(RuntimeError, match=r"mlp\.up_proj without calling it"):
        adapted.end()
    del adapted._unseen[number]
    adapted._ranges = []


def test_ranges_cover_the_rows_of_each_adapter() -> None:
    for seed in range(50):
        rng = random.Random(seed)
        numbers = np.array([rng.choice([0, 0, 7, 9]) for _ in range(rng.randrange(30))], dtype=int)
        spread = np.zeros_like(numbers)
        for first, end, number in adapter_ranges(numbers):
            assert number
            assert not spread[first:end].any()
            spread[first:end] = number
        assert np.array_equal(spread, numbers)


def test_a_namespace_names_its_adapter() -> None:
    assert namespace_of("o", "s") == ("o", "s")
    assert adapter_of(namespace_of("o", "s")) == 0
    assert adapter_of(namespace_of("o", "s", 5)) == 5
    assert adapter_of((namespace_of("o", "s", 5), 1)) == 5  # of one request
