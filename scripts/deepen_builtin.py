"""Trades inner units of the built-in model for layers: a start for more training.

    python scripts/deepen_builtin.py --out build/deeper --inner 240 --after 2 3
    python scripts/train_builtin.py --start-from build/deeper --lr 2e-3 --minutes 80 ...

Depth is worth more than width at this size, and a trained model need not begin anew: the inner
units that are least missed go, the rest learn by least squares to stand in for them (Hassibi and
Stork's optimal brain surgeon, 1993), and new layers come in whose outputs are zero at first.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

sys.path.insert(0, str(Path(__file__).resolve().parent))
from train_builtin import SHIPPED, TEMPLATE, Batches, Part

BATCH_TOKENS = 4096


@torch.no_grad()
def mean_loss(model: Qwen3ForCausalLM, parts: list[Part]) -> float:
    """Cross entropy of the assistant's tokens."""
    total, number = 0.0, 0
    for ids, labels in parts:
        hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
        targets = labels[:, 1:]
        wanted = targets != -100
        logits = model.lm_head(hidden[:, :-1][wanted])
        total += float(nn.functional.cross_entropy(logits, targets[wanted], reduction="sum"))
        number += int(wanted.sum())
    return total / number


@torch.no_grad()
def inner_products(model: Qwen3ForCausalLM, parts: list[Part]) -> list[Tensor]:
    """Per layer [inner, inner]: products of its inner units' values, added up over all tokens."""
    found: list[Tensor] = []
    kept = torch.empty(0)

    def watch(down: nn.Linear) -> RemovableHandle:
        at = len(found)
        found.append(torch.zeros(down.in_features, down.in_features))

        def add(_: nn.Module, inputs: tuple[Tensor]) -> None:
            values = inputs[0][kept]
            found[at].add_(values.T @ values)

        return down.register_forward_pre_hook(add)

    watches = [watch(layer.mlp.down_proj) for layer in model.model.layers]
    for ids, labels in parts:
        kept = (ids != 0) | (labels != -100)  # all but the padding
        model.model(input_ids=ids, use_cache=False)
    for each in watches:
        each.remove()
    return found


def surgeon(weight: Tensor, products: Tensor, keep: int) -> tuple[Tensor, Tensor]:
    """The units to keep, in order, and the weight [outputs, keep] that does best with them.

    weight [outputs, inner] in float64; one unit after the other goes, the one that costs least.
    """
    inner = len(products)
    damping = products.diagonal().mean() * 1e-4
    inverse = torch.linalg.inv(products + damping * torch.eye(inner, dtype=products.dtype))
    weight, alive = weight.clone(), torch.ones(inner, dtype=torch.bool)
    for _ in range(inner - keep):
        costs = (weight**2).sum(0) / inverse.diagonal()
        costs[~alive] = torch.inf
        unit = int(costs.argmin())
        row = inverse[unit] / inverse[unit, unit]
        weight -= torch.outer(weight[:, unit], row)
        inverse -= torch.outer(inverse[:, unit], row)
        alive[unit] = False
        inverse[unit, unit] = 1.0  # not to be divided by zero; its weights are zero
        weight[:, unit] = 0.0
    units = alive.nonzero().flatten()
    return units, weight[:, units]


@torch.no_grad()
def prune(model: Qwen3ForCausalLM, parts: list[Part], inner: int) -> None:
    """Leave so many inner units in each layer."""
    for layer, products in zip(model.model.layers, inner_products(model, parts), strict=True):
        mlp = layer.mlp
        units, down = surgeon(mlp.down_proj.weight.double(), products.double(), inner)
        for projection in (mlp.gate_proj, mlp.up_proj):
            projection.weight = nn.Parameter(projection.weight[units].clone())
            projection.out_features = inner
        mlp.down_proj.weight = nn.Parameter(down.float())
        mlp.down_proj.in_features = inner
    model.config.intermediate_size = inner


@torch.no_grad()
def with_layers(model: Qwen3ForCausalLM, after: list[int]) -> Qwen3ForCausalLM:
    """The model with a new layer behind each of these; it computes the same as before."""
    layers = list(model.model.layers)
    for at in sorted(after, reverse=True):
        new = copy.deepcopy(layers[at])
        attention, mlp = new.self_attn, new.mlp
        for some in (attention.q_proj, attention.k_proj, attention.v_proj, mlp.gate_proj,
                     mlp.up_proj):  # fmt: skip
            some.weight.normal_(0.0, model.config.initializer_range)
        for last in (attention.o_proj, mlp.down_proj):
            last.weight.zero_()
        layers.insert(at + 1, new)
    sizes = {"num_hidden_layers": len(layers), "layer_types": ["full_attention"] * len(layers)}
    deeper = Qwen3ForCausalLM(Qwen3Config(**model.config.to_dict() | sizes))
    deeper.model.embed_tokens.load_state_dict(model.model.embed_tokens.state_dict())
    deeper.model.norm.load_state_dict(model.model.norm.state_dict())
    for mine, other in zip(deeper.model.layers, layers, strict=True):
        mine.load_state_dict(other.state_dict())
    return deeper


def main() -> None:
    """Read the options, prune, insert, write the folder, print the losses on the way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--start-from", type=Path, default=SHIPPED)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--inner", type=int, required=True, help="inner units that stay")
    parser.add_argument("--after", type=int, nargs="*", default=[], help="layers, from 0")
    parser.add_argument("--batches", type=int, default=60, help="of text that units are judged by")
    args = parser.parse_args()
    torch.manual_seed(0)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(args.start_from)
    tokenizer.chat_template = TEMPLATE.read_text(encoding="utf-8")
    model = Qwen3ForCausalLM.from_pretrained(args.start_from, dtype=torch.float32).eval()
    judging, held_out = (Batches(tokenizer, seed, BATCH_TOKENS) for seed in (91, 92))
    parts = [judging.next() for _ in range(args.batches)]
    unseen = [held_out.next() for _ in range(max(args.batches // 3, 1))]
    losses = {"before": mean_loss(model, unseen)}
    prune(model, parts, args.inner)
    losses["pruned"] = mean_loss(model, unseen)
    model = with_layers(model, args.after).eval()
    losses["deeper"] = mean_loss(model, unseen)
    model.save_pretrained(args.out)
    tokenizer.save_pretrained(args.out)
    parameters = sum(p.numel() for p in model.parameters())
    print(json.dumps({"parameters": parameters, **losses}))


if __name__ == "__main__":
    main()
