"""A peer without a server: reads workloads as JSON lines, answers with records.

    python in_process.py transformers|openvino MODEL THREADS CACHE_GIB

Run by the peer's Python, so it imports no part of YAIE. The runner writes a line `{"conversations",
"output_len", "num_samples", "temperature"}` and reads a line of answers: for each request the
prompt length, start and end, and for each sample the ids and arrivals.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from typing import Any

Record = dict[str, Any]
# A padded batch of transformers keeps its keys and values twice while they grow.
_WAVE_TOKENS = 40_000


def new_record(prompt_len: int, num_samples: int) -> Record:
    """Return an answer before its first token. Times are those of `time.perf_counter`."""
    return {
        "prompt_len": prompt_len,
        "start_s": time.perf_counter(),
        "end_s": 0.0,
        "arrivals": [[] for _ in range(num_samples)],
        "token_ids": [[] for _ in range(num_samples)],
    }


class Arrivals:
    """A streamer for `generate`: records the end of each step of the batch."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self._has_prompt = False

    def put(self, value: Any) -> None:
        """Record a step: the first call brings the prompt, each later one a token of every row."""
        if self._has_prompt:
            self.times.append(time.perf_counter())
        self._has_prompt = True

    def end(self) -> None:
        """Do nothing: `put` has recorded everything."""


class Transformers:
    """`generate` on left-padded batches: all conversations with a pending turn, as one wave."""

    def __init__(self, model: str, threads: int, cache_gib: int) -> None:
        self._torch = importlib.import_module("torch")
        library = importlib.import_module("transformers")
        self._torch.set_num_threads(threads)
        self._model = library.AutoModelForCausalLM.from_pretrained(
            model, dtype=self._torch.bfloat16, attn_implementation="sdpa"
        ).eval()

    def run(self, asked: dict[str, Any]) -> list[Record]:
        """Run all turns of all conversations."""
        conversations = asked["conversations"]
        histories: list[list[int]] = [[] for _ in conversations]
        records: list[list[Record]] = [[] for _ in conversations]
        for turn in range(max(map(len, conversations))):
            live = [i for i, turns in enumerate(conversations) if turn < len(turns)]
            for index in live:
                histories[index] += conversations[index][turn]
            longest = max(len(histories[i]) for i in live) + asked["output_len"]
            size = max(1, _WAVE_TOKENS // (longest * asked["num_samples"]))
            asked_s = time.perf_counter()
            for first in range(0, len(live), size):
                wave = live[first : first + size]
                for index, record in zip(
                    wave, self._wave([histories[i] for i in wave], asked), strict=True
                ):
                    record["start_s"] = asked_s  # later waves include their waiting time
                    records[index].append(record)
                    histories[index] += record["token_ids"][0]
        return [record for of_one in records for record in of_one]

    def _wave(self, prompts: list[list[int]], asked: dict[str, Any]) -> list[Record]:
        torch, samples = self._torch, asked["num_samples"]
        width = max(map(len, prompts))
        records = [new_record(len(prompt), samples) for prompt in prompts]
        ids = torch.tensor([[0] * (width - len(prompt)) + prompt for prompt in prompts])
        mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
        arrivals = Arrivals()
        drawn = {"do_sample": True, "temperature": asked["temperature"], "top_k": 0}
        how = drawn if asked["temperature"] > 0 else {"do_sample": False}
        length = asked["output_len"]
        with torch.inference_mode():
            rows = self._model.generate(
                ids, attention_mask=mask, max_new_tokens=length, min_new_tokens=length,
                eos_token_id=-1, pad_token_id=0, num_return_sequences=samples,
                streamer=arrivals, **how,
            )  # fmt: skip
        for index, row in enumerate(rows):
            record, sample = records[index // samples], index % samples
            record["token_ids"][sample] = row[width:].tolist()
            record["arrivals"][sample] = [[at_s, 1] for at_s in arrivals.times]
            record["end_s"] = time.perf_counter()
        return records


class OpenVino:
    """OpenVINO GenAI's continuous batching pipeline with its prefix cache."""

    def __init__(self, model: str, threads: int, cache_gib: int) -> None:
        self._numpy = importlib.import_module("numpy")
        self._openvino = importlib.import_module("openvino")
        self._genai = importlib.import_module("openvino_genai")
        scheduler = self._genai.SchedulerConfig()
        scheduler.cache_size = cache_gib
        scheduler.enable_prefix_caching = True
        scheduler.max_num_batched_tokens = 2048
        scheduler.max_num_seqs = 64
        scheduler.dynamic_split_fuse = True
        self._pipeline = self._genai.ContinuousBatchingPipeline(
            model, scheduler, "CPU", {"INFERENCE_NUM_THREADS": threads}
        )
        self._num_requests = 0

    def run(self, asked: dict[str, Any]) -> list[Record]:
        """Run all turns of all conversations."""
        conversations = asked["conversations"]
        histories: list[list[int]] = [[] for _ in conversations]
        records: list[list[Record]] = [[] for _ in conversations]
        handles: dict[int, Any] = {}

        def ask(index: int) -> None:
            histories[index] += conversations[index][len(records[index])]
            record = new_record(len(histories[index]), asked["num_samples"])
            records[index].append(record)
            handles[index] = self._ask(histories[index], asked)

        for index in range(len(conversations)):
            ask(index)
        while handles:
            self._pipeline.step()
            for index, handle in list(handles.items()):
                record = records[index][-1]
                self._read(handle, record)
                if all(len(ids) >= asked["output_len"] for ids in record["token_ids"]):
                    record["end_s"] = time.perf_counter()
                    histories[index] += record["token_ids"][0]
                    del handles[index]
                    if len(records[index]) < len(conversations[index]):
                        ask(index)
        return [record for of_one in records for record in of_one]

    def _ask(self, prompt: list[int], asked: dict[str, Any]) -> Any:
        config = self._genai.GenerationConfig()
        config.max_new_tokens = config.min_new_tokens = asked["output_len"]
        config.ignore_eos = True
        config.do_sample = asked["temperature"] > 0
        config.num_return_sequences = asked["num_samples"]
        if config.do_sample:
            config.temperature = asked["temperature"]
        self._num_requests += 1
        ids = self._openvino.Tensor(self._numpy.array([prompt], dtype=self._numpy.int64))
        return self._pipeline.add_request(self._num_requests, ids, config)

    @staticmethod
    def _read(handle: Any, record: Record) -> None:
        while handle.can_read():
            # The handle numbers its sequences in the order of the samples.
            for sample, (_, output) in enumerate(sorted(handle.read().items())):
                ids = list(output.generated_ids)
                if ids:
                    record["token_ids"][sample] += ids
                    record["arrivals"][sample].append([time.perf_counter(), len(ids)])


def main() -> None:
    """Load, report readiness, then answer one line with one line until the input ends."""
    # Libraries print to stdout; answers use a copy of the original descriptor.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    engine, model, threads, cache_gib = sys.argv[1:]
    kind = Transformers if engine == "transformers" else OpenVino
    peer: Transformers | OpenVino = kind(model, int(threads), int(cache_gib))
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps({"answers": peer.run(json.loads(line))}), file=answers, flush=True)


if __name__ == "__main__":
    main()
