"""The demonstration model in training: its shape, optimizers, losses and gradients."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed
from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from transformers.masking_utils import AttentionMaskInterface

from .batches import CONTEXT, END, PAD, VOCAB, Part

# Read outside the compiled function: the question would break its graph.
TILES = torch.cpu._is_amx_tile_supported()
BF16_PRODUCTS = TILES or torch.cpu._is_avx512_bf16_supported()


def new_model(tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    """Return a randomly initialised Qwen3 of just under 4 million parameters."""
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


class Optimizers:
    """Muon for the matrices of the layers, AdamW for the rest, under one learning rate.

    Muon learns more from a token than AdamW; its updates are scaled to AdamW's. The gains of the
    query and key norms set the sharpness of attention, and copying needs sharp attention: they
    learn four times as fast as the rest.
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
        """Update the parameters at a share of the learning rate; clear the gradients."""
        for one in (self.muon, self.adamw):
            for group in one.param_groups:
                group["lr"] = self.lr * group.get("scale", 1.0) * share
            one.step()
            one.zero_grad(set_to_none=True)

    def state_dict(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return {"muon": self.muon.state_dict(), "adamw": self.adamw.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state of a checkpoint."""
        self.muon.load_state_dict(state["muon"])
        self.adamw.load_state_dict(state["adamw"])


def attend(
    module: nn.Module, queries: Tensor, keys: Tensor, values: Tensor, mask: None, **options: Any
) -> tuple[Tensor, None]:
    """Compute causal attention, in bf16 only in forward passes with tiles.

    Gradients of bf16 attention are slow in torch, and without tiles forward passes are slow too.
    """
    looks_only = not torch.is_grad_enabled() and TILES
    dtype = torch.bfloat16 if looks_only else torch.float32
    with torch.autocast("cpu", enabled=False):
        output = nn.functional.scaled_dot_product_attention(
            queries.to(dtype), keys.to(dtype), values.to(dtype), is_causal=True, enable_gqa=True
        )
    return output.transpose(1, 2).contiguous(), None


class Gradients:
    """Losses and gradients of the compiled model: small layers are mostly overhead.

    Matrix products are bf16 if the processor has instructions for them, since bf16 without them is
    no faster than float32; weights, gradients and accumulators stay float32.
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
        """Return the cross entropies of the assistant's tokens, [number of labels], row after row.

        Rows are padded on the right, invisible to a causal model, so no mask is needed. Logits are
        computed only for labelled tokens.
        """
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            hidden = self.hidden(ids)
            targets = labels[:, 1:]
            wanted = targets != -100
            logits = self.model.lm_head(hidden[:, :-1][wanted])
        return nn.functional.cross_entropy(logits.float(), targets[wanted], reduction="none")

    def add(self, parts: list[Part]) -> float:
        """Accumulate the gradients of the mean loss over all parts; return that loss."""
        number = sum(int((labels[:, 1:] != -100).sum()) for _, labels in parts)
        total = 0.0
        for ids, labels in parts:
            loss = self.losses(ids, labels).sum() / number
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        return total

    def instructive(self, parts: list[Part], share: float) -> tuple[list[Part], float]:
        """Return rows worth a backward pass, about this share of the tokens, and the mean loss of
        all.

        The model soon answers most conversations. The chance of a row grows with its loss; a
        forward pass over three tokens costs as much as learning from one.
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


def _parts(rows: list[tuple[int, Tensor, Tensor]], most_tokens: int) -> list[Part]:
    """Group rows of nearly equal length, padded on the right."""
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


@torch.no_grad()
def average(model: nn.Module, progress: float, loss: float) -> tuple[float, float]:
    """Average the weights, the share of the schedule done and the loss over all processes."""
    weights = list(model.parameters())
    flat = torch.cat([w.flatten() for w in weights] + [torch.tensor([progress, loss])])
    torch.distributed.all_reduce(flat)
    flat /= torch.distributed.get_world_size()
    sizes = [w.numel() for w in weights]
    for weight, mean in zip(weights, flat[:-2].split(sizes), strict=True):
        weight.copy_(mean.view_as(weight))
    return float(flat[-2]), float(flat[-1])
