"""The instruction sets of this machine as read from the system, and those of the library."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.kernels.compiler import needs_compiler
from yaie.base.errors import ConfigError
from yaie.kernels import instruction_sets, library_search


@needs_compiler
def test_the_system_and_the_library_agree_on_the_sets() -> None:
    loaded = library_search.load()
    assert loaded is not None
    of_machine = list(instruction_sets.of_this_machine())
    option = os.environ["YAIE_KERNELS"]
    chosen = of_machine if option in ("all", "auto") else option.split(",")
    # A library with more sets, compiled before or prebuilt, also serves.
    assert set(loaded.instruction_sets).issuperset(chosen)
    assert loaded.instruction_sets == [n for n in of_machine if n in loaded.instruction_sets]
    assert loaded.instruction_set == of_machine[0]


@needs_compiler
def test_an_unavailable_set_is_refused_with_the_usable_ones() -> None:
    loaded = library_search.load()
    assert loaded is not None
    with pytest.raises(ConfigError, match=r"'avx1024' is unavailable; use one of .*portable"):
        loaded.use_instruction_set("avx1024")


def test_a_silent_system_has_the_portable_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = tmp_path / "cpuinfo"
    few.write_text("processor\t: 0\nflags\t\t: fpu fma f16c avx2 avx512f\n")
    monkeypatch.setattr(instruction_sets.platform, "machine", lambda: "x86_64")
    for description, expected in ((tmp_path / "none", ("portable",)), (few, ("avx2", "portable"))):
        monkeypatch.setattr(instruction_sets, "CPU_DESCRIPTION", description)
        assert instruction_sets.of_this_machine.__wrapped__() == expected
    monkeypatch.setattr(instruction_sets.platform, "machine", lambda: "riscv64")
    assert instruction_sets.of_this_machine.__wrapped__() == ("portable",)


@pytest.mark.parametrize(
    ("vendor", "first"), [("GenuineIntel", ("vnni", "bf16")), ("AuthenticAMD", ("bf16", "vnni"))]
)
def test_bf16_products_rank_by_vendor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vendor: str, first: tuple[str, ...]
) -> None:
    """Intel's vector units multiply float32 faster than bf16."""
    description = tmp_path / "cpuinfo"
    flags = " ".join(instruction_sets.X86_64["bf16"])
    description.write_text(f"vendor_id\t: {vendor}\nflags\t\t: {flags} f16c avx2\n")
    monkeypatch.setattr(instruction_sets.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(instruction_sets, "CPU_DESCRIPTION", description)
    assert instruction_sets.of_this_machine.__wrapped__() == (*first, "avx512", "avx2", "portable")
