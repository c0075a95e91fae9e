"""The product kernels' compiled sm_80 code, run by the interpreter of PTX against exact products.

Each address must lie in a tensor that the launch was given, and each write in an output.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from tests.attention.tree_decode import test_ptx
from tests.models.quantized_device.cases import Layer, packed
from tests.ptx.memory import MemoryFault
from tests.triton_process import needs_triton

pytestmark = [needs_triton, pytest.mark.integration]
BF16, FP16 = torch.bfloat16, torch.float16
CASES = {
    "int4 in groups": (Layer("int4", 70, 192, 3, has_points=True), BF16, 1),
    "int8 in parts": (Layer("int8", 40, 256, scale_dtype=torch.float32), FP16, 2),
    "fp8 in groups": (Layer("fp8", 33, 128, 2), BF16, 1),
}


@pytest.fixture(autouse=True)
def _outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("multiply_rows", "add_parts"):
        monkeypatch.setitem(test_ptx.OUTPUTS, name, {"output"})


def error_of_compiled(name: str, edit: Callable[[str], str] = str) -> float:
    """Multiply by compiled code; return the largest error over the largest output."""
    from tests.attention.tree_decode.compiling_driver import launches_to
    from yaie.models.quantization.device import launch

    layer, dtype, parts = CASES[name]
    _, weight = packed(layer)
    x = torch.randn(5, layer.inputs).to(dtype)
    bias = torch.randn(layer.outputs).to(dtype)
    output = torch.zeros(5, layer.outputs, dtype=dtype)
    chosen = launch.choose_tile
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            launch,
            "choose_tile",
            lambda *shape, **more: replace(chosen(*shape, **more), num_parts=parts),
        )
        with launches_to(80, lambda each: test_ptx.execute(each, edit)):
            launch.TritonProducts().multiply(x, weight, bias, output)
    exact = x.double() @ weight.dequantize(torch.float32).double().T + bias.double()
    return float((output.double() - exact).abs().max() / exact.abs().max())


@pytest.mark.parametrize("name", CASES)
def test_compiled_products_are_exact(name: str) -> None:
    assert error_of_compiled(name) <= {BF16: 2**-8, FP16: 2**-11}[CASES[name][1]]


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"cp\.async\.wait_group\s+\d+", "cp.async.wait_group 99"),
        (r"(cp\.async\.cg\.shared\.global \[ %r\d+ \+ 0 \], \[ %rd\d+ \+ )0", r"\g<1>16"),
    ],
    ids=["no wait for copies", "copies beside their addresses"],
)
def test_broken_code_is_seen(pattern: str, replacement: str) -> None:
    def edit(code: str) -> str:
        assert re.search(pattern, code) or "add_parts" in code
        return re.sub(pattern, replacement, code)

    with pytest.raises((MemoryFault, AssertionError)):
        assert error_of_compiled("int4 in groups", edit) <= 2**-8
