"""Trains the built-in demonstration model from scratch and writes it in Hugging Face layout.

    python scripts/train_builtin.py --minutes 45

Everything is made here: the text (`builtin_corpus`), the byte-level BPE tokenizer, the weights.
Training sees an endless stream of fresh conversations; the loss counts the assistant's words only.
Each core runs a process of its own, and they average their weights every few steps: two threads on
layers this small, or processes that meet in each step, wait for each other more than they compute,
and stall altogether beside a busy neighbour.
A checkpoint is written every few minutes, so a run that is cut off can be continued (`--resume`),
and the last line printed is a JSON object with the figures of the run.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from queue import Queue
from random import Random
from typing import Any

import torch
import torch.distributed
import torch.multiprocessing
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn
from transformers import (
    AttentionInterface,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
)
from transformers.masking_utils import AttentionMaskInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))
import builtin_corpus as corpus

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
SHIPPED = Path(__file__).resolve().parents[1] / "yaie/models/builtin"
TEMPLATE = Path(__file__).resolve().parent / "builtin_corpus" / "chat_template.jinja"
# Asked here: compiled code would break off to ask.
TILES = torch.cpu._is_amx_tile_supported()
BF16_PRODUCTS = TILES or torch.cpu._is_avx512_bf16_supported()


def train_tokenizer(seed: int, samples: int = 12000) -> PreTrainedTokenizerFast:
    """A byte-level BPE trained on the corpus, wrapped with the chat template."""
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


def new_model(tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    """A Qwen3 of just under 4 million parameters, randomly initialised."""
    end, pad = tokenizer.convert_tokens_to_ids([END, PAD])
    config = Qwen3Config(
        vocab_size=VOCAB,
        hidden_size=256,
        intermediate_size=384,
        num_hidden_layers=7,
        num_attention_heads=8,
        num_key_value_heads=4,
        head_dim=32,
        max_position_embeddings=CONTEXT,
        rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
        tie_word_embeddings=True,
        initializer_range=0.04,
        bos_token_id=None,
        eos_token_id=end,
        pad_token_id=pad,
        use_cache=True,
    )
    return Qwen3ForCausalLM(config)


Part = tuple[Tensor, Tensor]  # token ids and labels, [rows, tokens]


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
        """The next batch; raises what kept the thread from making it."""
        made = self._queue.get()
        if isinstance(made, BaseException):
            raise made
        return made

    def encode(self, sample: corpus.Sample) -> tuple[list[int], list[int]]:
        """Token ids of a conversation, and labels: -100 but for what the assistant wrote."""
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


class Optimizers:
    """Muon for the matrices of the layers, AdamW for the rest, under one learning rate.

    Muon learns more from a token than AdamW does, and its updates are scaled to the size of
    AdamW's. The gains of the query and key norms set how sharp attention can be, and copying needs
    it sharp: they learn four times as fast as the rest.
    """

    def __init__(self, model: nn.Module, lr: float) -> None:
        named = list(model.named_parameters())
        gains = [p for n, p in named if "q_norm" in n or "k_norm" in n]
        matrices = [p for n, p in named if p.ndim == 2 and "embed" not in n]
        others = [p for n, p in named if not any(p is q for q in gains + matrices)]
        groups = [{"params": others, "scale": 1.0}, {"params": gains, "scale": 4.0}]
        self.lr = lr
        self.muon = torch.optim.Muon(
            matrices, lr=lr, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"
        )
        self.adamw = torch.optim.AdamW(
            groups, lr=lr, betas=(0.9, 0.98), weight_decay=0.0, fused=True
        )

    def step(self, share: float) -> None:
        """Change the parameters at this share of the learning rate; forget the gradients."""
        for one in (self.muon, self.adamw):
            for group in one.param_groups:
                group["lr"] = self.lr * group.get("scale", 1.0) * share
            one.step()
            one.zero_grad(set_to_none=True)

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"muon": self.muon.state_dict(), "adamw": self.adamw.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on with what a checkpoint kept."""
        self.muon.load_state_dict(state["muon"])
        self.adamw.load_state_dict(state["adamw"])


def attend(
    module: nn.Module, queries: Tensor, keys: Tensor, values: Tensor, mask: None, **options: Any
) -> tuple[Tensor, None]:
    """Causal attention, in bf16 only where tiles look ahead: its gradients are slow in torch, and
    without tiles all of it is."""
    looks_only = not torch.is_grad_enabled() and TILES
    dtype = torch.bfloat16 if looks_only else torch.float32
    with torch.autocast("cpu", enabled=False):
        output = nn.functional.scaled_dot_product_attention(
            queries.to(dtype), keys.to(dtype), values.to(dtype), is_causal=True, enable_gqa=True
        )
    return output.transpose(1, 2).contiguous(), None


class Gradients:
    """Computes losses and gradients with the model compiled: small layers are mostly overhead.

    Matrix products are bf16 where the processor has instructions for them, as bf16 without them is
    no faster than float32; weights, gradients and sums stay float32.
    """

    def __init__(self, model: Qwen3ForCausalLM) -> None:
        AttentionInterface.register("training", attend)
        AttentionMaskInterface.register("training", lambda *args, **options: None)
        model.config._attn_implementation = "training"
        self.model = model
        self.bf16 = BF16_PRODUCTS
        self.hidden = torch.compile(
            lambda ids: model.model(input_ids=ids, use_cache=False).last_hidden_state, dynamic=True
        )

    def losses(self, ids: Tensor, labels: Tensor) -> Tensor:
        """[number of labels] cross entropies of the assistant's tokens, row after row.

        Rows are padded on the right, which a causal model cannot see, so no mask is needed; logits
        are made only where there is a label.
        """
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            hidden = self.hidden(ids)
            targets = labels[:, 1:]
            wanted = targets != -100
            logits = self.model.lm_head(hidden[:, :-1][wanted])
        return nn.functional.cross_entropy(logits.float(), targets[wanted], reduction="none")

    def add(self, parts: list[Part]) -> float:
        """Add the mean loss's gradients of all parts to the model's; returns that loss."""
        number = sum(int((labels[:, 1:] != -100).sum()) for _, labels in parts)
        total = 0.0
        for ids, labels in parts:
            loss = self.losses(ids, labels).sum() / number
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        return total

    def instructive(self, parts: list[Part], share: float) -> tuple[list[Part], float]:
        """Rows worth a backward pass, about this share of the tokens; and the mean loss of all.

        Most conversations are soon answered without fault. A row is drawn the more likely the
        larger its loss is, so three tokens are looked at in the time that one takes to learn from.
        """
        rows: list[tuple[float, Tensor, Tensor]] = []
        total, number = 0.0, 0
        with torch.no_grad():
            for ids, labels in parts:
                losses = self.losses(ids, labels)
                total, number = total + float(losses.sum()), number + len(losses)
                counts = (labels[:, 1:] != -100).sum(1)
                sums = torch.zeros(len(ids)).index_add_(
                    0, torch.arange(len(ids)).repeat_interleave(counts), losses
                )
                # The largest of these come up as in draws without replacement.
                keys = (sums + 1e-3).log() - torch.empty(len(ids)).exponential_().log()
                rows += zip(keys.tolist(), ids, labels, strict=True)
        rows.sort(key=lambda row: -row[0])
        left = share * sum(ids.numel() for ids, _ in parts)
        chosen = []
        for _, ids, labels in rows:
            length = int((labels != -100).nonzero().max()) + 1  # nothing behind it is learnt from
            chosen.append((length, ids[:length], labels[:length]))
            left -= length
            if left <= 0:
                break
        return _parts(chosen, most_tokens=max(ids.numel() for ids, _ in parts)), total / number


@torch.no_grad()
def average(model: nn.Module, progress: float, loss: float) -> tuple[float, float]:
    """Average the weights over all processes, and what they decide by: how far they are in the
    schedule, and the loss."""
    weights = list(model.parameters())
    flat = torch.cat([w.flatten() for w in weights] + [torch.tensor([progress, loss])])
    torch.distributed.all_reduce(flat)
    flat /= torch.distributed.get_world_size()
    sizes = [w.numel() for w in weights]
    for weight, mean in zip(weights, flat[:-2].split(sizes), strict=True):
        weight.copy_(mean.view_as(weight))
    return float(flat[-2]), float(flat[-1])


def _parts(rows: list[tuple[int, Tensor, Tensor]], most_tokens: int) -> list[Part]:
    """Rows of nearly equal length together, padded on the right."""
    rows = sorted(rows, key=lambda row: row[0])
    groups: list[list[tuple[int, Tensor, Tensor]]] = [[]]
    for row in rows:
        if groups[-1] and (len(groups[-1]) + 1) * row[0] > most_tokens:
            groups.append([])
        groups[-1].append(row)
    pad = nn.utils.rnn.pad_sequence
    return [
        (
            pad([ids for _, ids, _ in group], batch_first=True),
            pad([labels for _, _, labels in group], batch_first=True, padding_value=-100),
        )
        for group in groups
    ]


def save(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, out: Path) -> None:
    """Write the folder that ships: bf16 weights, tokenizer, template, greedy generation."""
    out.mkdir(parents=True, exist_ok=True)
    copy = Qwen3ForCausalLM(model.config)
    copy.config._attn_implementation = "sdpa"
    copy.load_state_dict(model.state_dict())
    copy = copy.to(torch.bfloat16)
    copy.config.dtype = torch.bfloat16
    generation = copy.generation_config
    generation.do_sample = False
    generation.temperature = None
    generation.eos_token_id = [model.config.eos_token_id, model.config.pad_token_id]
    generation.pad_token_id = model.config.pad_token_id
    copy.save_pretrained(out)
    tokenizer.save_pretrained(out)
    # Engines read the sampling defaults in generation_config.json; transformers itself wants no
    # temperature with greedy decoding, so it is written beside its own save. The other edits keep
    # out what only says how this run loaded its files.
    _edit(out / "generation_config.json", ["_from_model_config"], {"temperature": 0.0})
    _edit(
        out / "tokenizer_config.json",
        ["is_local", "local_files_only"],
        {"tokenizer_class": "PreTrainedTokenizerFast"},
    )
    for file in out.iterdir():
        if file.is_file():
            file.chmod(0o644)


def _edit(path: Path, remove: list[str], add: dict[str, Any]) -> None:
    """Change a JSON file in place."""
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings = {key: value for key, value in settings.items() if key not in remove} | add
    path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def _work(rank: int, args: argparse.Namespace, store: str) -> None:
    """One process of the training; the first one prints, saves, and leaves its figures behind."""
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=args.processes
    )
    figures = train(args, rank)
    if rank == 0:
        (args.work / "figures.json").write_text(json.dumps(figures), encoding="utf-8")
    torch.distributed.destroy_process_group()


def _begin(
    args: argparse.Namespace, checkpoint: Path
) -> tuple[PreTrainedTokenizerFast, Qwen3ForCausalLM, Optimizers, int]:
    """Tokenizer, model, optimizers and tokens seen: new, of other weights, or of a checkpoint."""
    torch.manual_seed(args.seed)
    if args.resume or args.start_from is not None:
        known = args.work / "tokenizer" if args.resume else args.start_from
        has_one = (known / "tokenizer.json").exists()
        tokenizer = PreTrainedTokenizerFast.from_pretrained(known if has_one else SHIPPED)
        tokenizer.chat_template = TEMPLATE.read_text(encoding="utf-8")
    else:
        tokenizer = train_tokenizer(args.seed)
    if args.resume:
        model = Qwen3ForCausalLM(Qwen3Config.from_pretrained(known))
    elif args.start_from is not None:
        model = Qwen3ForCausalLM.from_pretrained(known, dtype=torch.float32)
    else:
        model = new_model(tokenizer)
    optim = Optimizers(model, args.lr)
    if not args.resume:
        return tokenizer, model, optim, 0
    state = torch.load(checkpoint, weights_only=True)
    model.load_state_dict(state["model"])
    optim.load_state_dict(state["optim"])
    return tokenizer, model, optim, state["tokens"]


def train(args: argparse.Namespace, rank: int) -> dict[str, Any]:
    """The training loop, scheduled by the time computed: a busy machine cuts nothing off."""
    torch.set_num_threads(1)
    checkpoint = args.work / "checkpoint.pt"
    tokenizer, model, optim, tokens = _begin(args, checkpoint)
    parameters = sum(p.numel() for p in model.parameters())
    torch.distributed.barrier()  # the others may still be reading what is written now
    if rank == 0:
        tokenizer.save_pretrained(args.work / "tokenizer")
        model.config.save_pretrained(args.work / "tokenizer")
        print(json.dumps({"parameters": parameters, "vocab": len(tokenizer)}), flush=True)
    torch.manual_seed(args.seed + tokens + rank)
    batches = Batches(tokenizer, (args.seed + 1 + tokens) * args.processes + rank, args.part_tokens)
    gradients = Gradients(model)
    began = time.monotonic()
    saved_at = logged_at = began
    step = logged_tokens = 0
    run_tokens = 0
    losses: list[float] = []  # since the last line of the log
    recent: list[float] = []  # since the last average
    progress, known_loss = 0.0, math.inf
    began_computing = time.process_time()
    while progress < 1:
        warm = min(1.0, (step + 1) / args.warmup)
        # Flat, then down: half a cosine over the second part of the run.
        cool = 1.0 if progress < 0.3 else 0.5 * (1 + math.cos(math.pi * (progress - 0.3) / 0.7))
        # To choose pays once most conversations are answered; before, there is as much to learn
        # from any other.
        chooses = known_loss < args.choose_below
        num_parts = args.parts if chooses else max(1, round(args.parts * args.share))
        parts = [batches.next() for _ in range(num_parts)]
        size = sum(ids.numel() for ids, _ in parts) * args.processes
        if chooses:
            parts, loss = gradients.instructive(parts, args.share)
            gradients.add(parts)
        else:
            loss = gradients.add(parts)
        losses.append(loss)
        recent.append(loss)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optim.step(warm * max(cool, 0.005))
        step += 1
        if step % args.own_steps == 0:
            done = (time.process_time() - began_computing) / (args.minutes * 60)
            progress, known_loss = average(model, done, sum(recent) / len(recent))
            recent.clear()
        tokens += size
        run_tokens += size
        logged_tokens += size
        now = time.monotonic()
        if rank > 0:
            continue
        if now - logged_at > 20:
            mean = sum(losses) / len(losses)
            rate = logged_tokens / (now - logged_at)
            print(
                f"{now - began:6.0f} s  step {step}  {tokens / 1e6:.2f} M tokens  "
                f"{rate:.0f} tok/s  loss {mean:.4f}",
                flush=True,
            )
            logged_at, logged_tokens, losses = now, 0, []
        if now - saved_at > 180:
            _checkpoint(checkpoint, model, optim, tokens)
            saved_at = now
    if rank == 0:
        _checkpoint(checkpoint, model, optim, tokens)
        save(model, tokenizer, args.out)
    seconds = time.monotonic() - began
    return {
        "parameters": parameters,
        "seconds": round(seconds),
        "steps": step,
        "tokens": tokens,
        "tokens_per_second": round(run_tokens / seconds),
        "loss": round(sum(losses) / max(1, len(losses)), 5),
    }


def _checkpoint(path: Path, model: nn.Module, optim: Optimizers, tokens: int) -> None:
    state = {
        "model": model.state_dict(),
        "optim": optim.state_dict(),
        "tokens": tokens,
    }
    torch.save(state, path.with_suffix(".new"))
    shutil.move(path.with_suffix(".new"), path)


def main() -> None:
    """Read the options, train, evaluate, print the figures."""
    root = Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=root / "build/builtin/model")
    parser.add_argument("--work", type=Path, default=root / "build/builtin", help="checkpoints")
    parser.add_argument("--minutes", type=float, default=45, help="of computing on each core")
    parser.add_argument("--processes", type=int, default=2, help="one a core")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--warmup", type=int, default=50, help="steps")
    parser.add_argument("--own-steps", type=int, default=16, help="of a process between averages")
    parser.add_argument("--part-tokens", type=int, default=2048, help="tokens in a small batch")
    parser.add_argument("--parts", type=int, default=4, help="small batches in a step")
    parser.add_argument("--share", type=float, default=0.25, help="of tokens to learn from")
    parser.add_argument(
        "--choose-below", type=float, default=0.3, help="loss above which all are learnt from"
    )
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    parser.add_argument("--start-from", type=Path, help="weights and tokenizer to begin with")
    parser.add_argument("--no-eval", action="store_true")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(_work, (args, f"{folder}/store"), nprocs=args.processes)
    figures = json.loads((args.work / "figures.json").read_text(encoding="utf-8"))
    if not args.no_eval:
        from builtin_corpus.evaluate import evaluate

        figures["accuracy"] = evaluate(args.out, root / "tests/models/builtin_questions.jsonl")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
