"""Weight sizes: the format of a model's weights in memory, and their bytes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import torch

from yaie.models.architecture.loaded_model import name_of
from yaie.models.files.checkpoint import DTYPES, Checkpoint
from yaie.models.load.expert_tensors import ExpertSource
from yaie.models.quantization.block_layout import BlockLayout
from yaie.models.quantization.calibration_plan import CalibrationPlan
from yaie.models.quantization.device.products import CHUNK_BYTES, choose_products
from yaie.models.quantization.quantize import RoundingEstimate
from yaie.models.quantization.quantized_layers import QuantizedLayout

_READING_BYTES = 24  # per weight of an expert's layer: stored, unpacked, several float32


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """The format of the model's weights in memory."""

    device: torch.device
    dtype: torch.dtype
    kv_dtype: torch.dtype
    context_len: int
    quantized: QuantizedLayout | RoundingEstimate | BlockLayout | None
    is_packed: bool  # the kernel library packs quantized weights
    calibration: CalibrationPlan | None
    experts: tuple[ExpertSource, ...] = ()  # packed for the kernel library as they are read
    expert_kind: str | None = None  # in which experts are rounded

    @property
    def expert_nbytes(self) -> int:
        """Bytes of packed experts."""
        return sum(each.nbytes(self.expert_kind) for each in self.experts)

    @property
    def expert_reading_nbytes(self) -> int:
        """Bytes to read one expert and pack it."""
        widths = (prod(size) for each in self.experts for size in each.sizes.values())
        return _READING_BYTES * max(widths, default=0)

    @property
    def is_on_gpu(self) -> bool:
        """True if quantized weights are packed for a device."""
        return is_gpu(self.device)


def is_gpu(device: torch.device) -> bool:
    """Return True if quantized weights on a device are packed for it, as they are on no CPU."""
    return device.type != "cpu"


def estimate_weights(checkpoint: Checkpoint, target: WeightFormat) -> int:
    """Return the weights' bytes once they are loaded, quantized and packed."""
    wide = target.dtype.itemsize
    if target.quantized is None:
        return checkpoint.num_parameters * wide
    if target.is_on_gpu and not isinstance(target.quantized, BlockLayout):
        return target.quantized.device_nbytes(wide)
    return target.quantized.nbytes(wide, packed=target.is_packed) + target.expert_nbytes


def estimate_dequantized(target: WeightFormat) -> int:
    """Return the largest copy that a step makes from quantized weights."""
    if target.quantized is None or target.is_packed:
        return 0
    if not target.is_on_gpu:
        return target.quantized.dequantizing_nbytes
    products = choose_products(target.device)
    return min(CHUNK_BYTES, target.quantized.dequantizing_nbytes) if products.name == "plain" else 0


def estimate_peak(
    checkpoint: Checkpoint, stored: QuantizedLayout | None, target: WeightFormat
) -> int:
    """Return quantized weights' peak size while they are loaded, before packing.

    stored: the checkpoint's quantized layers. On a GPU it is the peak there: each layer moves over
    and is packed before the next one.
    """
    quantized, wide = target.quantized, target.dtype.itemsize
    if quantized is None:
        return 0
    if isinstance(quantized, BlockLayout):
        return quantized.loading_nbytes(wide) + target.expert_nbytes + target.expert_reading_nbytes
    if target.is_on_gpu:
        return quantized.device_nbytes(wide) + quantized.device_packing_nbytes(wide)
    experts = target.expert_nbytes
    if isinstance(quantized, QuantizedLayout):
        layers = quantized.loading_nbytes(wide)
        reading = quantized.nbytes(wide, packed=False) + experts + target.expert_reading_nbytes
        return max(layers, reading)
    # A converted tensor is no longer backed by the file's mmap, and GGUF is copied.
    kinds = {DTYPES.get(tensor.kind) for tensor in checkpoint.tensors.values()}
    is_changed = any(tensor.is_changed for tensor in checkpoint.tensors.values())
    mapped = kinds == {name_of(target.dtype)} and checkpoint.gguf is None and not is_changed
    calibrating = 0 if target.calibration is None else target.calibration.nbytes
    peak = quantized.loading_nbytes(wide, mapped=mapped, calibrating=calibrating)
    # All weights are widened before the first one is rounded.
    peak = peak if stored is None else max(peak, stored.loading_nbytes(wide))
    return peak + experts + target.expert_reading_nbytes
