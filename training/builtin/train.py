"""Trains the built-in demonstration model from scratch and writes it in Hugging Face layout.

    python -m training.builtin.train --minutes 45

Text (`corpus`), byte-level BPE tokenizer and weights are all made here. Training sees an endless
stream of fresh conversations; the loss counts the assistant's words only. Each core runs a process
of its own, and all average their weights every few steps: with layers this small, two threads, or
processes that synchronize in each step, wait more than they compute, and stall when another program
takes a core. A checkpoint every few minutes lets an interrupted run continue (`--resume`). The last
line printed is a JSON object with the figures of the run.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed
import torch.multiprocessing
from torch import nn
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from .batches import SHIPPED, TEMPLATE, Batches, train_tokenizer
from .learning import Gradients, Optimizers, average, new_model


def save(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, out: Path) -> None:
    """Write the model folder: bf16 weights, tokenizer, template, greedy generation."""
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
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings = {key: value for key, value in settings.items() if key not in remove} | add
    path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def _work(rank: int, args: argparse.Namespace, store: str) -> None:
    """Run one process of the training; the first prints, saves, and leaves its figures."""
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
    """Return tokenizer, model, optimizers and tokens seen: new, of other weights, or of a
    checkpoint.
    """
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
    """Run the training loop, scheduled by computing time: a busy machine cuts nothing off."""
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
    state = {"model": model.state_dict(), "optim": optim.state_dict(), "tokens": tokens}
    torch.save(state, path.with_suffix(".new"))
    shutil.move(path.with_suffix(".new"), path)


def main() -> None:
    """Read the options, train, evaluate, print the figures."""
    root = Path(__file__).resolve().parents[2]
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
        from benchmarks.questions import evaluate

        figures["accuracy"] = evaluate(args.out, root / "tests/models/builtin_questions.jsonl")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
