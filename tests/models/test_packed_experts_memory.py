"""The memory that loading a mixture takes, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.conformance.case import Case, save
from tests.conformance.mixtures import MIXTURES
from yaie.kernels.library_search import load

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(load() is None, reason="no kernel library: experts are not packed"),
    pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux"),
]

LAYERS, EXPERTS, HIDDEN, INNER = 4, 16, 512, 1024

# Loads a tiny model first, for the imports, and prints the growth of the peak and packed bytes.
PROGRAM = """
import sys
from pathlib import Path
from yaie.base.settings import EngineConfig
from yaie.models.load.loader import load_model

def read(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])

def load(folder):
    return load_model(EngineConfig(model=folder, num_slots=256, quantization="int4",
                                   calibrate="none", threads=2))

load(sys.argv[1])
Path("/proc/self/clear_refs").write_text("5")
before = read("VmRSS")
loaded = load(sys.argv[2])
print(read("VmHWM") - before, loaded.metadata.weight_bytes)
"""


def test_the_peak_is_that_of_packed_experts(tmp_path: Path) -> None:
    small = next(case for case in MIXTURES if case.name == "qwen3-moe")
    save(small, small.build(), tmp_path / "small")
    write_mixture(small, tmp_path / "large")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "small"), str(tmp_path / "large")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    growth, packed = map(int, done.stdout.split()[-2:])
    stored = (tmp_path / "large/model.safetensors").stat().st_size
    assert packed < 0.35 * stored
    # The rest: memory for packed weights is mapped by 64 MiB, one layer's tensors, small layers.
    assert packed < growth < 1.7 * packed


def write_mixture(small: Case, folder: Path) -> None:
    """Write a mixture whose experts hold nearly all of its weights, in bfloat16."""
    settings = {
        "num_hidden_layers": LAYERS,
        "num_experts": EXPERTS,
        "hidden_size": HIDDEN,
        "moe_intermediate_size": INNER,
    }
    case = Case("large", small.architecture, "", {**small.settings, **settings})
    model = case.build().bfloat16()
    save(case, model, folder)
    tensors = {
        name: tensor.bfloat16().contiguous()
        for name, tensor in model.state_dict().items()
        if ".experts." not in name
    }
    values = (torch.randn(INNER, HIDDEN) * 0.02).bfloat16()
    for layer in range(LAYERS):
        for expert in range(EXPERTS):
            name = f"model.layers.{layer}.mlp.experts.{expert}"
            tensors |= {f"{name}.{part}_proj.weight": values.clone() for part in ("gate", "up")}
            tensors[f"{name}.down_proj.weight"] = values.T.contiguous()
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "torch_dtype": "bfloat16"}))
