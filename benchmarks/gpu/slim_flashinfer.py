"""Repack FlashInfer's wheel for a machine without a network: 62 MB become 5 MB.

`python -m benchmarks.gpu.slim_flashinfer WHEEL SITE MODULES OUT`. Kept are the Python files that an
import loads, the sources and headers of the built modules, so that they can be built again there,
and the modules themselves as `flashinfer/data/aot`, where FlashInfer looks before it compiles.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

_DATA = "flashinfer/data"
_SOURCES = ("batch_decode", "batch_prefill", "page", "tvm_ffi_utils", "single_")
_HEADERS = (".cuh", ".h", ".hpp")
_METADATA = ("METADATA", "WHEEL", "entry_points.txt", "LICENSE")
_IMPORTS = """
import sys
sys.path.insert(0, sys.argv[1])
import flashinfer.decode, flashinfer.prefill, flashinfer.jit.attention.modules
for module in list(sys.modules.values()):
    print(getattr(module, "__file__", None) or "")
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Repack a wheel and print the sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path, help="flashinfer_python-*.whl")
    parser.add_argument("site", type=Path, help="folder in which it is installed")
    parser.add_argument("modules", type=Path, help="folder cached_ops of the built modules")
    parser.add_argument("out", type=Path, help="folder of the new wheel")
    options = parser.parse_args(arguments)
    site = options.site.resolve()
    keep = {*imported_files(site), *included_headers(site, options.modules)}
    print(repack(options.wheel, keep, options.modules, options.out))


def imported_files(site: Path) -> Iterator[str]:
    """Yield FlashInfer's files that its import loads, relative to `site`."""
    ran = subprocess.run(
        [sys.executable, "-c", _IMPORTS, str(site)], check=True, capture_output=True, text=True
    )
    for line in ran.stdout.splitlines():
        if line.startswith(f"{site}/flashinfer/"):
            yield Path(line).relative_to(site).as_posix()


def included_headers(site: Path, modules: Path) -> Iterator[str]:
    """Yield FlashInfer's headers that the compiler read for the modules, relative to `site`."""
    for listed in modules.glob("*/*.d"):
        for word in listed.read_text(encoding="utf-8").replace("\\\n", " ").split():
            if word.startswith(f"{site}/{_DATA}/"):
                yield Path(word).relative_to(site).as_posix()


def repack(wheel: Path, keep: set[str], modules: Path, out: Path) -> str:
    """Write the wheel with the named files, its metadata and the modules; return what it has."""
    out.mkdir(parents=True, exist_ok=True)
    target = out / wheel.name
    record = []
    num_bytes = 0
    with (
        zipfile.ZipFile(wheel) as old,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new,
    ):
        contents = {name: old.read(name) for name in old.namelist() if _is_kept(name, keep)}
        for library in sorted(modules.glob("*/*.so")):
            name = f"{_DATA}/aot/{library.parent.name}/{library.name}"
            contents[name] = library.read_bytes()
        for name, content in sorted(contents.items()):
            new.writestr(name, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            record.append(f"{name},sha256={digest.decode()},{len(content)}")
            num_bytes += len(content)
        info = next(name for name in contents if name.endswith(".dist-info/METADATA"))
        own = str(PurePosixPath(info).with_name("RECORD"))
        new.writestr(own, "\n".join([*record, f"{own},,"]) + "\n")
    missing = sorted(keep - set(contents))
    lacks = f", not in the wheel: {', '.join(missing[:5])}" if missing else ""
    size = target.stat().st_size
    return f"{target}: {size:,} bytes, {len(record)} files of {num_bytes:,} bytes{lacks}"


def _is_kept(name: str, keep: set[str]) -> bool:
    path = PurePosixPath(name)
    is_source = path.parent == PurePosixPath(_DATA, "csrc") and path.name.startswith(_SOURCES)
    is_header = name.startswith(f"{_DATA}/include/flashinfer/") and path.suffix in _HEADERS
    is_metadata = ".dist-info/" in name and path.name in _METADATA
    return name in keep or is_source or is_header or is_metadata


if __name__ == "__main__":
    main()
