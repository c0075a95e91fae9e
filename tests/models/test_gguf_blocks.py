"""Each kind of GGUF block against a plain twin that decodes value by value."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from yaie.models.files.gguf.tensor_kinds import KINDS, decode

SCALES = {"Q6_K": (208,), "Q8_0": (0,), "Q4_0": (0,), "Q5_0": (0,), "Q2_K": (80, 82)} | {
    "IQ4_NL": (0,),
    "MXFP4": (),
}  # bytes of float16 in a block; others (0, 2)
IQ4_VALUES = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
FP4_VALUES = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)


def half(data: bytes, at: int) -> float:
    return float(struct.unpack_from("<e", data, at)[0])


def nibble(data: bytes, index: int) -> int:
    """Return value `index` of 32: the lower halves of 16 bytes, then the upper ones."""
    return data[index % 16] >> (4 if index >= 16 else 0) & 15


def scale_and_minimum(packed: bytes, group: int) -> tuple[int, int]:
    """Return the 6-bit scale and minimum of one of 8 groups."""
    if group < 4:
        return packed[group] & 63, packed[group + 4] & 63
    low, scale, minimum = packed[group + 4], packed[group - 4], packed[group]
    return (low & 15) | (scale >> 6 << 4), (low >> 4) | (minimum >> 6 << 4)


def plain_value(kind: str, data: bytes, i: int) -> float:  # noqa: PLR0911
    """Return value `i` of a block."""
    match kind:
        case "F32":
            return float(struct.unpack("<f", data)[0])
        case "F16":
            return half(data, 0)
        case "BF16":
            return float(struct.unpack("<f", b"\0\0" + data)[0])
        case "Q8_0":
            return half(data, 0) * struct.unpack_from("<b", data, 2 + i)[0]
        case "Q4_0":
            return half(data, 0) * (nibble(data[2:], i) - 8)
        case "Q4_1":
            return half(data, 0) * nibble(data[4:], i) + half(data, 2)
        case "Q5_0":
            high = int.from_bytes(data[2:6], "little") >> i & 1
            return half(data, 0) * ((nibble(data[6:], i) | high << 4) - 16)
        case "Q5_1":
            high = int.from_bytes(data[4:8], "little") >> i & 1
            return half(data, 0) * (nibble(data[8:], i) | high << 4) + half(data, 2)
        case "Q4_K" | "Q5_K":
            group = i // 32
            scale, minimum = scale_and_minimum(data[4:16], group)
            low = data[-128:][group // 2 * 32 + i % 32] >> (group % 2 * 4) & 15
            high = data[16 + i % 32] >> group & 1 if kind == "Q5_K" else 0
            return half(data, 0) * scale * (low | high << 4) - half(data, 2) * minimum
        case "Q6_K":
            part, rest = divmod(i, 128)
            low = data[part * 64 + rest % 64] >> (rest // 64 * 4) & 15
            high = data[128 + part * 32 + rest % 32] >> (rest // 32 * 2) & 3
            scale = struct.unpack_from("<b", data, 192 + i // 16)[0]
            return half(data, 208) * scale * ((low | high << 4) - 32)
        case "Q2_K":
            scale = data[i // 16]
            value = data[16 + i // 128 * 32 + i % 32] >> (i % 128 // 32 * 2) & 3
            return half(data, 80) * (scale & 15) * value - half(data, 82) * (scale >> 4)
        case "IQ4_NL":
            return half(data, 0) * IQ4_VALUES[nibble(data[2:], i)]
        case "MXFP4":
            return 2.0 ** (data[0] - 128) * FP4_VALUES[nibble(data[1:], i)]
    raise AssertionError(kind)


TWINS = (
    *("F32", "F16", "BF16", "Q8_0", "Q6_K", "Q5_K", "Q5_1", "Q5_0", "Q4_K", "Q4_1", "Q4_0"),
    *("Q2_K", "IQ4_NL", "MXFP4"),
)


@pytest.mark.parametrize("kind", TWINS)
def test_a_kind_decodes_as_its_plain_twin(kind: str) -> None:
    block = KINDS[kind]
    rng = np.random.default_rng(0)
    raw = rng.integers(0, 256, (3, 2 * block.nbytes), np.uint8)
    if block.nbytes > 4:  # scales of random bytes may be infinite
        places = SCALES.get(kind, (0, 2))
        for place in places:
            for start in (place, place + block.nbytes):
                scales = rng.normal(size=(3, 1)).astype("<f2")
                raw[:, start : start + 2] = scales.view(np.uint8)
    if kind == "MXFP4":
        raw[:, :: block.nbytes] = 120
    found = decode(kind, raw)
    assert found.dtype == np.float32
    assert found.shape == (3, 2 * block.num_values)
    for row, values in zip(raw, found.tolist(), strict=True):
        for place, value in enumerate(values):
            index, inside = divmod(place, block.num_values)
            data = row[index * block.nbytes :][: block.nbytes].tobytes()
            expected = plain_value(kind, data, inside)
            assert value == pytest.approx(expected, rel=1e-5, abs=1e-5, nan_ok=True)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_decode_in_rows_as_alone(kind: str) -> None:
    block = KINDS[kind]
    raw = np.random.default_rng(1).integers(0, 256, (40, 3 * block.nbytes), np.uint8)
    together = decode(kind, raw)
    assert together.shape == (40, 3 * block.num_values)
    alone = decode(kind, raw.reshape(120, block.nbytes)).reshape(together.shape)
    assert np.array_equal(together, alone, equal_nan=True)
    assert len(np.unique(together)) > 2
