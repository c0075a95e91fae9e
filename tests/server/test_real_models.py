"""Two models in one real server, whose memory holds one of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.server.real_server import Server
from tests.tiny_model import write_tiny_model
from yaie.api.llm import LLM
from yaie.base.types import SamplingParams
from yaie.bench.memory import process_tree

NAMES = {"one": 7, "two": 8}  # with the seeds of their weights
PROMPTS = [f"{number} trees" for number in range(8)]


class Lazy(Server):
    """`yaie serve --lazy-load` with a good and a damaged model."""

    bad = Path()

    def command(self) -> list[str]:
        models = ("--model", f"good={self.folder}", "--model", f"bad={self.bad}")
        return [
            self.python,
            "-m",
            "yaie",
            "serve",
            "--lazy-load",
            *models,
            "--port",
            str(self.port),
        ]


@pytest.mark.integration
def test_a_damaged_model_ends_neither_the_server_nor_a_good_model(
    model: Path, tmp_path: Path
) -> None:
    Lazy.bad = write_tiny_model(tmp_path / "bad", seed=9)
    weights = Lazy.bad / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    memory = str(450 * 1024**2)
    names = {"YAIE_MODEL": "", "YAIE_SERVED_MODEL_NAME": "", "YAIE_NUM_SLOTS": "512"}
    server = Lazy(model, tmp_path / "log", YAIE_MEMORY_BYTES=memory, **names)
    body = {"prompt": "a", "max_tokens": 2}
    try:
        server.wait_ready()
        assert "bad answers 503 until it is mended" in server.log.read_text()
        assert server.post("/v1/completions", {"model": "good", **body}).status_code == 200
        for _ in range(2):
            refused = server.post("/v1/completions", {"model": "bad", **body})
            assert refused.status_code == 503
            assert "model.safetensors is damaged" in refused.json()["error"]["message"]
        states = {each["model"]: each for each in server.stats()["models"]}
        assert (states["good"]["state"], states["good"]["unloads"]) == ("ready", 0)
        weights.write_bytes(whole)
        assert server.post("/v1/completions", {"model": "bad", **body}).status_code == 200
        assert server.post("/v1/completions", {"model": "good", **body}).status_code == 200
        assert server.stop() == 0
    finally:
        server.process.kill()
        server.process.wait()


def answers(folder: Path) -> dict[str, str]:
    with LLM(str(folder), num_slots=512, device="cpu") as llm:
        outputs = llm.generate(PROMPTS, SamplingParams(max_tokens=6, temperature=0.0))
        return dict(zip(PROMPTS, (output.text for output in outputs), strict=True))


@pytest.mark.integration
@pytest.mark.parametrize(
    ("number", "batch"),
    [
        pytest.param(100, 50, marks=pytest.mark.slow),
        pytest.param(10_000, 500, marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
    ],
)
def test_requests_alternate_between_two_models(
    number: int, batch: int, start: Callable[..., Server], tmp_path: Path
) -> None:
    folders = {name: write_tiny_model(tmp_path / name, seed=seed) for name, seed in NAMES.items()}
    expected = {name: answers(folder) for name, folder in folders.items()}
    assert expected["one"] != expected["two"]
    server = start(
        YAIE_MODEL="",
        YAIE_SERVED_MODEL_NAME="",
        YAIE_MODELS=",".join(f"{name}={folder}" for name, folder in folders.items()),
        YAIE_NUM_SLOTS="512",
        YAIE_LAZY_LOAD="true",
        YAIE_MEMORY_BYTES=str(450 * 1024**2),
    )
    server.wait_ready()
    rng = random.Random(1)

    def ask(name: str) -> None:
        prompt = rng.choice(PROMPTS)
        body = {"model": name, "prompt": prompt, "max_tokens": 6, "temperature": 0}
        answer = server.post("/v1/completions", body).json()
        assert answer["choices"][0]["text"] == expected[name][prompt], answer

    sizes = []
    with ThreadPoolExecutor(16) as threads:
        for turn in range(number // batch):
            first, second = list(NAMES) if turn % 2 else reversed(NAMES)
            # One request of the other model waits beside many of the first.
            list(threads.map(ask, [first] * (batch - 1) + [second]))
            sizes.append(len(process_tree(server.process.pid)))
    states = {each["model"]: each for each in server.stats()["models"]}
    assert sum(each["loads"] for each in states.values()) >= number // batch
    assert sorted(each["state"] for each in states.values()) == ["ready", "unloaded"]
    assert len(set(sizes)) == 1  # processes: the server and one engine
