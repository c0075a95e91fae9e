"""The tokenizer of the demonstration model, and batches of token ids from the generator."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from queue import Queue
from random import Random
from typing import Any

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from . import corpus

VOCAB = 2048
CONTEXT = 4096
END, START, PAD = "<|im_end|>", "<|im_start|>", "<|endoftext|>"
MARKERS = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
# Words keep their leading space, but capitalised words and figures do not: a name is then the same
# tokens in a sentence and inside JSON quotes, and copying it is easy. Digits stand alone.
SPLIT = (
    r" ?\p{Ll}+|\p{Lu}[\p{L}\p{M}]*|[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{N}\p{M}]+|\s*[\r\n]+|"
    r"\s+(?!\S)|\s+"
)
SHIPPED = Path(__file__).resolve().parents[2] / "yaie/models/builtin"
TEMPLATE = SHIPPED / "chat_template.jinja"

Part = tuple[Tensor, Tensor]  # token ids and labels, [rows, tokens]


def train_tokenizer(seed: int, samples: int = 12000) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE on the generator's text; return it with the chat template."""
    rng = Random(seed)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB - len(MARKERS),
        special_tokens=[PAD, START, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )

    def texts() -> Any:
        for i in range(samples):
            tools, messages = (
                corpus.long_conversation(rng) if i % 25 == 0 else corpus.conversation(rng)
            )
            yield json.dumps(tools) if tools else ""
            for message in messages:
                yield message["content"] or json.dumps(message.get("tool_calls"))

    tokenizer.train_from_iterator(texts(), trainer)
    tokenizer.add_tokens([AddedToken(m, special=False, normalized=False) for m in MARKERS])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        model_max_length=CONTEXT,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        chat_template=TEMPLATE.read_text(encoding="utf-8"),
    )


class Batches:
    """Fresh batches of token ids and labels, made by a thread ahead of the training step."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, seed: int, batch_tokens: int) -> None:
        self.tokenizer = tokenizer
        self.rng = Random(seed)
        self.batch_tokens = batch_tokens
        self.head = tokenizer(START + "assistant\n")["input_ids"]
        self.end = tokenizer.convert_tokens_to_ids(END)
        self._queue: Queue[Part | BaseException] = Queue(maxsize=128)
        threading.Thread(target=self._work, daemon=True).start()

    def next(self) -> Part:
        """Return the next batch. Raises the error that ended the thread."""
        made = self._queue.get()
        if isinstance(made, BaseException):
            raise made
        return made

    def encode(self, sample: corpus.Sample) -> tuple[list[int], list[int]]:
        """Return a conversation's token ids and labels: -100 except for the assistant's words."""
        tools, messages = sample
        text = self.tokenizer.apply_chat_template(messages, tools=tools, tokenize=False)
        ids: list[int] = self.tokenizer(text)["input_ids"]
        labels = [-100] * len(ids)
        at, width = 0, len(self.head)
        while at < len(ids):
            if ids[at : at + width] == self.head:
                at += width
                while True:
                    labels[at] = ids[at]
                    at += 1
                    if ids[at - 1] == self.end:
                        break
            else:
                at += 1
        return ids, labels

    def _batch(self, rows: list[tuple[list[int], list[int]]]) -> tuple[Tensor, Tensor]:
        width = max(len(ids) for ids, _ in rows)
        ids_out = torch.zeros(len(rows), width, dtype=torch.long)
        labels_out = torch.full((len(rows), width), -100, dtype=torch.long)
        for i, (ids, labels) in enumerate(rows):
            ids_out[i, : len(ids)] = torch.tensor(ids)
            labels_out[i, : len(ids)] = torch.tensor(labels)
        return ids_out, labels_out

    def _work(self) -> None:
        try:
            self._fill()
        except BaseException as error:
            self._queue.put(error)  # or training would wait for ever

    def _fill(self) -> None:
        """Sort a pool of samples by length, cut it into batches of equal cost, shuffle these."""
        while True:
            rows = [self.encode(corpus.conversation(self.rng)) for _ in range(1200)]
            rows += [self.encode(corpus.long_conversation(self.rng)) for _ in range(12)]
            rows = [row for row in rows if len(row[0]) <= 2400]
            rows.sort(key=lambda row: len(row[0]))
            batches: list[list[tuple[list[int], list[int]]]] = [[]]
            for row in rows:
                if batches[-1] and (len(batches[-1]) + 1) * len(row[0]) > self.batch_tokens:
                    batches.append([])
                batches[-1].append(row)
            self.rng.shuffle(batches)
            for batch in batches:
                self._queue.put(self._batch(batch))
