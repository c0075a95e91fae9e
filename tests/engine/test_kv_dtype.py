"""KV pools of another dtype than the model's: distance of logits, and batch independence.

A slot of an int8 pool depends on its own token alone, so a request gets the same answer in any
batch. The oracle is the same engine with one prompt alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.conformance.naive import NaiveCache
from tests.engine.chaotic_model import write_chaotic_model
from tests.engine.oracle import Oracle, Prompt, Said
from tests.engine.test_schedules import MAX_NEW, Subject, builtin_folder, run_schedules
from tests.rounding_sets import ROUNDING_SETS
from yaie.base.settings import EngineConfig, KVDtype
from yaie.engine.execution.executor import Executor
from yaie.engine.execution.executor_choice import choose_executor
from yaie.kernels import library_search
from yaie.models.load.loader import load_model
from yaie.text.tokenizer import load_tokenizer

pytestmark = pytest.mark.usefixtures("one_thread")

TEXTS = (
    "A radix tree keeps common beginnings once, and a slot is one place in the pool. " * 4,
    "You are a careful assistant. Answer in one sentence. What is the capital of France?",
)
NUM_SLOTS = 512
# Norm of the difference to the logits of a float32 pool, relative to their norm. It varies by text
# and weights: int8 moves the logits of the shipped weights by 0.009 and 0.021, those of the
# previous weights by 0.013 and 0.017, with equal means.
BOUNDS: dict[KVDtype, float] = {
    "float16": 1e-3,
    "bfloat16": 6e-3,
    "int8": 0.03,
    "float8_e4m3fn": 0.1,
}


def make_executor(folder: Path, kv_dtype: KVDtype, backend: str = "auto") -> Executor:
    config = EngineConfig(
        model=str(folder), dtype="float32", device="cpu", num_slots=NUM_SLOTS, kv_dtype=kv_dtype
    )
    return choose_executor(load_model(config), backend)  # type: ignore[arg-type]


def logits_of(executor: Executor, tokens: list[int], *, cuts: tuple[int, ...] = ()) -> torch.Tensor:
    """Return the logits of every token, computed in chunks that end at `cuts`."""
    cache = NaiveCache(NUM_SLOTS)
    found = []
    for end in (*cuts, len(tokens)):
        plan = cache.plan([tokens[:end]], all_logits=True)
        found.append(executor.execute(plan)[-(end - sum(map(len, found))) :])
    return torch.cat(found)


def divergence(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@pytest.fixture(scope="module")
def builtin() -> Path:
    return builtin_folder()


@pytest.mark.integration
@pytest.mark.parametrize("backend", ["auto", "reference"])
@pytest.mark.parametrize("kv_dtype", BOUNDS)
def test_logits_stay_near_those_of_a_float32_pool(
    builtin: Path, kv_dtype: KVDtype, backend: str
) -> None:
    precise, rounded = (
        make_executor(builtin, "float32", backend),
        make_executor(builtin, kv_dtype, backend),
    )
    for text in TEXTS:
        tokens = load_tokenizer(builtin).encode(text)
        expected, found = logits_of(precise, tokens), logits_of(rounded, tokens)
        assert 0 < divergence(found, expected) < BOUNDS[kv_dtype]


@pytest.mark.integration
@pytest.mark.parametrize("backend", ["auto", "reference"])
def test_a_cache_hit_gives_the_logits_of_one_pass(builtin: Path, backend: str) -> None:
    """A cached prefix is rounded like a new one."""
    executor = make_executor(builtin, "int8", backend)
    tokens = load_tokenizer(builtin).encode(TEXTS[0])
    cold = logits_of(executor, tokens)
    # Some instruction sets round the queries of many rows to bf16, and keep those of few rows:
    # logits then move as far as with keys in bf16.
    library = library_search.load() if backend == "auto" else None
    rounds = library is not None and library.instruction_set in ROUNDING_SETS
    bound = BOUNDS["bfloat16"] if rounds else 2e-3
    for cuts in ((len(tokens) // 2,), (1, 2, 3, 40), (len(tokens) - 1,)):
        assert divergence(logits_of(executor, tokens, cuts=cuts), cold) < bound


class AloneOracle(Oracle):
    """The engine with one prompt alone; each token comes from a cold cache."""

    def __init__(self, folder: Path, kv_dtype: KVDtype) -> None:
        self.executor = make_executor(folder, kv_dtype)
        self.vocab_size = self.executor.loaded.vocab_size
        self._said: dict[Prompt, Said] = {}

    def says(self, prompt: Prompt) -> Said:
        if prompt not in self._said:
            tokens, logprobs, margins = list(prompt), [], []
            for _ in range(MAX_NEW):
                logits = self.executor.execute(NaiveCache(NUM_SLOTS).plan([tokens]))[0]
                best = logits.topk(2)
                tokens.append(int(best.indices[0]))
                logprobs.append(float(logits.log_softmax(-1)[tokens[-1]]))
                margins.append(float(best.values[0] - best.values[1]))
            new = tuple(tokens[len(prompt) :])
            self._said[prompt] = Said(new, tuple(logprobs), tuple(margins))
        return self._said[prompt]

    def logprobs(self, tokens: Prompt) -> torch.Tensor:
        return logits_of(self.executor, list(tokens)).log_softmax(-1)


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    folder = write_chaotic_model(tmp_path_factory.mktemp("chaotic_model"))
    # A difference of 1e-7 may round a key or value to its neighbour, 1/127 of the largest away.
    made = Subject(
        folder, AloneOracle(folder, "int8"), kv_dtype="int8", least_margin=0.1, tolerance=0.1
    )
    made.fill(seed=2)
    return made


@pytest.mark.integration
@pytest.mark.parametrize("part", range(2))
def test_answers_do_not_depend_on_the_batch(subject: Subject, part: int) -> None:
    stats = run_schedules(subject, range(5000 + 20 * part, 5020 + 20 * part))
    assert sum(stat.num_evicted_tokens for stat in stats) > 250
    assert sum(stat.cached_tokens for stat in stats) > 250
