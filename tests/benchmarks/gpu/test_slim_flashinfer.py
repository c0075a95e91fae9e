"""The slim wheel: what an import and a build need, and the built modules, with a true RECORD."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from benchmarks.gpu.slim_flashinfer import main

INFO = "flashinfer_python-9.9.dist-info"
KEPT = {
    "flashinfer/__init__.py": "",
    "flashinfer/decode.py": "from flashinfer import core",
    "flashinfer/core.py": "",
    "flashinfer/prefill.py": "",
    "flashinfer/jit/__init__.py": "",
    "flashinfer/jit/attention/__init__.py": "",
    "flashinfer/jit/attention/modules.py": "",
    "flashinfer/data/csrc/batch_decode.cu": "// decode",
    "flashinfer/data/include/flashinfer/page.cuh": "// pages",
    "flashinfer/data/cutlass/used.h": "// read by the compiler",
    f"{INFO}/METADATA": "Metadata-Version: 2.1\nName: flashinfer-python\nVersion: 9.9\n",
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
LEFT_OUT = {
    "flashinfer/moe.py": "",
    "flashinfer/data/csrc/moe.cu": "",
    "flashinfer/data/csrc/nested/batch_decode.cu": "",
    "flashinfer/data/cutlass/unused.h": "",
    "flashinfer/data/include/flashinfer/notes.md": "",
    f"{INFO}/RECORD": "old",
}
MODULE = "flashinfer/data/aot/batch_decode_bf16/batch_decode_bf16.so"


@pytest.fixture
def slim(tmp_path: Path) -> Path:
    site, modules = tmp_path / "site", tmp_path / "cached_ops"
    wheel = tmp_path / "flashinfer_python-9.9-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        for name, content in {**KEPT, **LEFT_OUT}.items():
            file.writestr(name, content)
        file.extractall(site)
    built = modules / "batch_decode_bf16"
    built.mkdir(parents=True)
    (built / "batch_decode_bf16.so").write_bytes(b"\x7fELF")
    header = site.resolve() / "flashinfer/data/cutlass/used.h"
    (built / "unit.d").write_text(f"unit.o: /usr/include/math.h \\\n {header} \\\n", "utf-8")
    main([str(wheel), str(site), str(modules), str(tmp_path / "out")])
    return tmp_path / "out" / wheel.name


def test_it_holds_what_is_needed_and_the_modules(slim: Path) -> None:
    with zipfile.ZipFile(slim) as file:
        assert set(file.namelist()) == {*KEPT, MODULE, f"{INFO}/RECORD"}
        assert file.read(MODULE) == b"\x7fELF"
        record = file.read(f"{INFO}/RECORD").decode().splitlines()
        for line in record[:-1]:
            name, digest, size = line.split(",")
            content = file.read(name)
            found = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            assert (digest, int(size)) == (f"sha256={found.decode()}", len(content))
        assert record[-1] == f"{INFO}/RECORD,,"
        assert len(record) == len(KEPT) + 2


@pytest.mark.integration
def test_pip_installs_it(slim: Path, tmp_path: Path) -> None:
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps")
    subprocess.run([*pip, "--target", str(tmp_path / "there"), str(slim)], check=True)
    assert (tmp_path / "there" / MODULE).is_file()
