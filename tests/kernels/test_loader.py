"""Building and loading the kernel library: with a compiler, without one, when things go wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.kernels.compiler import find_compiler, needs_compiler
from yaie.kernels import build, instruction_sets, leftovers, loader
from yaie.kernels.loader import Library
from yaie.kernels.structures import ABI

FASTER = ("avx2", "avx512", "vnni", "bf16", "amx")
REPORT = """
import json, sys
from yaie.kernels import loader
loaded = loader.load()
status = loader.status()
print(json.dumps({
    "loaded": status.loaded, "reason": status.reason, "torch": "torch" in sys.modules,
    "set": loaded.instruction_set if loaded else None,
    "sets": loaded.instruction_sets if loaded else [],
}))
"""


def report(**environment: str) -> dict[str, object]:
    """What a fresh process says about the library."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
        env={**os.environ, **environment},
    )
    assert done.stderr == ""  # silent
    found: dict[str, object] = json.loads(done.stdout)
    return found


# In the place of the kernels: one that knows `portable` and no other set, or all.
SMALL_SOURCE = """
#if YAIE_CHOSEN_SETS && !YAIE_WITH_portable
#error "this compiler has never heard of it"
#endif
extern "C" int yaie_abi() { return 4; }
extern "C" const char* yaie_source() { return YAIE_SOURCE; }
"""


# All that a library has to have, and does nothing: this processor has of its sets `portable` alone.
STUBS = """
#pragma GCC visibility push(default)
#if YAIE_CHOSEN_SETS && !YAIE_WITH_portable
static const char* const set = 0;
#else
static const char* const set = "portable";
#endif
extern "C" {
int yaie_abi() { return ABI; }
const char* yaie_source() { return YAIE_SOURCE; }
const char* yaie_chosen_instruction_set() { return set; }
const char* yaie_instruction_set(int index) { return index ? 0 : set; }
int yaie_is_available(const char*) { return 1; }
int yaie_choose_instruction_set(const char*) { return 0; }
OTHERS
}
""".replace("ABI", str(ABI), 1).replace(
    "OTHERS",
    "\n".join(
        f"void yaie_{name}() {{}}"
        for name in (
            *(
                "attention",
                "best",
                "decode",
                "draw",
                "linear",
                "pack",
                "pack_integers",
                "packed_inputs",
            ),
            *("panel_outputs", "prefer_huge_pages", "set_threads", "write_kv"),
        )
    ),
)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The instruction sets of each compilation from now on."""
    found: list[tuple[str, ...]] = []
    real = build.compile_library

    def compile_library(compiler: str, target: Path, sets: tuple[str, ...]) -> None:
        found.append(sets)
        real(compiler, target, sets)

    monkeypatch.setattr(build, "compile_library", compile_library)
    monkeypatch.setattr(instruction_sets, "of_this_machine", lambda: ("avx1024", "portable"))
    return found


@pytest.fixture
def small_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library of two functions in place of the kernels: compiled in a moment."""
    folder = tmp_path / "csrc"
    folder.mkdir()
    (folder / "kernels.cpp").write_text(SMALL_SOURCE)
    monkeypatch.setattr(build, "SOURCES", folder)
    monkeypatch.setattr(build, "MAIN_SOURCE", folder / "kernels.cpp")
    monkeypatch.setattr(loader, "PREBUILT", tmp_path / "none.so")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


@needs_compiler
def test_a_fresh_process_loads_what_was_compiled_before_without_torch() -> None:
    loader.load()
    found = report()
    assert found["loaded"] is True
    assert found["torch"] is False


def test_it_can_be_switched_off() -> None:
    found = report(YAIE_KERNELS="off")
    assert found["loaded"] is False
    assert found["reason"] == "switched off by YAIE_KERNELS=off"


@needs_compiler
@pytest.mark.parametrize(
    "name",
    # Each is compiled by itself, which takes some seconds.
    ["portable", *(pytest.param(name, marks=pytest.mark.slow) for name in FASTER)],
)
def test_an_instruction_set_can_be_forced(name: str) -> None:
    loaded = loader.load()
    assert loaded is not None
    if name not in loaded.instruction_sets:
        pytest.skip(f"this processor or this library has no {name}")
    assert report(YAIE_KERNELS=name)["set"] == name


@needs_compiler
def test_the_first_use_compiles_the_best_set_and_no_other(tmp_path: Path) -> None:
    best = instruction_sets.of_this_machine()[0]
    environment = {"YAIE_KERNELS": "auto", "XDG_CACHE_HOME": str(tmp_path)}
    found = report(**environment)
    assert found["sets"] == [found["set"]] == [best]
    assert "compiled with" in str(found["reason"]) or loader.PREBUILT.is_file()
    again = report(**environment)
    assert again["set"] == best
    assert "compiled before" in str(again["reason"]) or loader.PREBUILT.is_file()


@needs_compiler
def test_what_the_system_tells_of_the_processor_is_what_the_library_finds() -> None:
    loaded = loader.load()
    assert loaded is not None
    of_machine = list(instruction_sets.of_this_machine())
    wish = os.environ["YAIE_KERNELS"]
    wanted = of_machine if wish in ("all", "auto") else wish.split(",")
    # A library with more, compiled before or prebuilt, will do.
    assert set(loaded.instruction_sets).issuperset(wanted)
    assert loaded.instruction_sets == [n for n in of_machine if n in loaded.instruction_sets]
    assert loaded.instruction_set == of_machine[0]


def test_a_system_that_tells_nothing_has_the_portable_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = tmp_path / "cpuinfo"
    few.write_text("processor\t: 0\nflags\t\t: fpu fma avx2 avx512f\n")
    monkeypatch.setattr(instruction_sets.platform, "machine", lambda: "x86_64")
    for description, expected in ((tmp_path / "none", ("portable",)), (few, ("avx2", "portable"))):
        monkeypatch.setattr(instruction_sets, "CPU_DESCRIPTION", description)
        assert instruction_sets.of_this_machine.__wrapped__() == expected
    monkeypatch.setattr(instruction_sets.platform, "machine", lambda: "riscv64")
    assert instruction_sets.of_this_machine.__wrapped__() == ("portable",)


@pytest.mark.parametrize(
    ("vendor", "first"), [("GenuineIntel", ("vnni", "bf16")), ("AuthenticAMD", ("bf16", "vnni"))]
)
def test_intel_multiplies_float32_numbers_faster_than_bf16_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vendor: str, first: tuple[str, ...]
) -> None:
    description = tmp_path / "cpuinfo"
    flags = " ".join(instruction_sets.X86_64["bf16"])
    description.write_text(f"vendor_id\t: {vendor}\nflags\t\t: {flags} avx2\n")
    monkeypatch.setattr(instruction_sets.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(instruction_sets, "CPU_DESCRIPTION", description)
    assert instruction_sets.of_this_machine.__wrapped__() == (*first, "avx512", "avx2", "portable")


@needs_compiler
@pytest.mark.usefixtures("small_source")
def test_a_set_that_the_compiler_does_not_know_leaves_the_next_one(
    compiled: list[tuple[str, ...]],
) -> None:
    found, reason = loader._find("auto")
    assert compiled == [("avx1024",), ("portable",)]
    assert found is None  # two functions are no kernel library
    assert "never heard of it" in reason


@needs_compiler
@pytest.mark.usefixtures("small_source")
def test_what_did_not_compile_or_load_is_not_compiled_at_each_start(
    compiled: list[tuple[str, ...]], tmp_path: Path
) -> None:
    _, first = loader._find("auto")
    found, again = loader._find("auto")
    assert found is None and len(compiled) == 2
    assert first in again and "tried before" in again
    assert "is no kernel library" in loader._find("portable")[1]
    assert len(compiled) == 2
    for marker in tmp_path.rglob(loader.FAILED):  # a day later it is tried again
        a_day_ago = time.time() - loader.REMEMBERED_S - 1
        os.utime(marker, (a_day_ago, a_day_ago))
    loader._find("auto")
    assert len(compiled) == 4


@needs_compiler
def test_a_set_that_is_left_out_is_named_beside_the_one_in_use(
    small_source: Path, compiled: list[tuple[str, ...]]
) -> None:
    unknown = "#if YAIE_WITH_avx1024\n#error not in this compiler\n#endif\n"
    (small_source / "kernels.cpp").write_text(unknown + STUBS)
    for origin in ("compiled with", "compiled before"):
        found, reason = loader._find("auto")
        assert found is not None and found.instruction_set == "portable"
        assert reason.startswith(f"portable, {origin}")
        assert "without avx1024" in reason and "not in this compiler" in reason
    assert compiled == [("avx1024",), ("portable",)]


@needs_compiler
def test_a_library_without_a_set_for_this_processor_is_not_compiled_again(
    small_source: Path, compiled: list[tuple[str, ...]]
) -> None:
    (small_source / "kernels.cpp").write_text(STUBS)
    for _ in range(2):
        found, reason = loader._find("auto")
        assert found is not None and found.instruction_set == "portable"
        assert "made for another processor" in reason
    assert compiled == [("avx1024",), ("portable",)]


@needs_compiler
def test_a_damaged_library_is_compiled_anew_unless_that_was_of_no_use(
    small_source: Path, compiled: list[tuple[str, ...]]
) -> None:
    (small_source / "kernels.cpp").write_text(STUBS)
    compiler = find_compiler()
    assert compiler is not None
    target = build.cached_library(compiler, ("portable",))
    target.parent.mkdir(parents=True)
    target.write_bytes(b"\x7fELF but not much more")
    marker = target.with_name(loader.FAILED)
    marker.write_text("it cannot be loaded")
    found, reason = loader._find("portable")
    assert found is None and reason.startswith("it cannot be loaded") and not compiled
    os.utime(marker, (0, 0))
    assert loader._find("portable")[0] is not None
    assert compiled == [("portable",)]
    assert {path.name for path in target.parent.iterdir()} == {
        target.name,
        target.name + build.DIGEST,
    }


@needs_compiler
def test_a_library_that_was_damaged_on_disk_is_compiled_anew_and_never_loaded(
    small_source: Path, compiled: list[tuple[str, ...]]
) -> None:
    """Cut short, or with zeros where blocks were not written yet: loading it would be a signal."""
    (small_source / "kernels.cpp").write_text(STUBS)
    assert loader._find("portable")[0] is not None
    (target,) = small_source.parent.rglob(build.LIBRARY_NAME)
    whole = target.read_bytes()
    half = len(whole) // 2
    for damaged in (whole[:half], whole[:half] + bytes(len(whole) - half), b""):
        target.unlink()  # this process has mapped it
        target.write_bytes(damaged)
        compiled.clear()
        found, reason = loader._find("portable")
        assert found is not None and "compiled with" in reason
        assert compiled == [("portable",)]
        assert loader._find("portable")[1].endswith("compiled before")


@needs_compiler
def test_a_library_whose_digest_is_not_there_is_compiled_anew(
    small_source: Path, compiled: list[tuple[str, ...]]
) -> None:
    (small_source / "kernels.cpp").write_text(STUBS)
    for _ in range(2):
        assert "compiled with" in loader._find("portable")[1]
        (digest,) = small_source.parent.rglob(f"*{build.DIGEST}")
        digest.unlink()
    assert compiled == [("portable",), ("portable",)]


@needs_compiler
def test_where_one_compiler_fails_the_next_is_tried(
    small_source: Path,
    compiled: list[tuple[str, ...]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (small_source / "kernels.cpp").write_text(STUBS)
    works = find_compiler()
    assert works is not None
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho error: no headers >&2\nexit 1\n")
    broken.chmod(0o755)
    (tmp_path / "another name").symlink_to(broken)
    monkeypatch.delenv("CXX", raising=False)
    names = (broken, tmp_path / "another name", tmp_path / "none")
    monkeypatch.setattr(build, "COMPILERS", (*(f"'{name}'" for name in names), works))
    assert build.find_compilers() == [str(broken), works]
    found, reason = loader._find("portable")
    assert found is not None and reason == f"portable, compiled with {works}"
    assert loader._find("portable")[1] == "portable, compiled before"
    assert len(compiled) == 2
    monkeypatch.setenv("CXX", str(broken))  # was chosen: no other will do
    assert loader._find("portable")[0] is None


@needs_compiler
@pytest.mark.usefixtures("small_source")
def test_each_choice_of_sets_has_a_file_of_its_own() -> None:
    compiler = find_compiler()
    assert compiler is not None
    files = {build.cached_library(compiler, sets) for sets in ((), ("portable",), ("avx2",))}
    assert len(files) == 3


@needs_compiler
def test_an_instruction_set_that_is_not_there_is_an_error_that_names_those_that_are() -> None:
    done = subprocess.run(
        [sys.executable, "-c", REPORT],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "YAIE_KERNELS": "avx1024"},
    )
    assert done.returncode != 0
    assert "YAIE_KERNELS is 'avx1024'" in done.stderr
    assert "portable" in done.stderr


def test_without_a_compiler_there_is_no_library_and_a_reason(tmp_path: Path) -> None:
    found = report(PATH=str(tmp_path), CXX="", XDG_CACHE_HOME=str(tmp_path))
    if loader.PREBUILT.is_file():
        pytest.skip("a prebuilt library needs no compiler")
    assert found["loaded"] is False
    assert "no C++ compiler" in str(found["reason"])


@needs_compiler
def test_the_chosen_compiler_may_be_a_command_with_arguments(
    small_source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (small_source / "kernels.cpp").write_text("#ifndef MORE\n#error no MORE\n#endif\n" + STUBS)
    plain = find_compiler()
    launcher = tmp_path / "a launcher"  # as ccache is one
    launcher.write_text('#!/bin/sh\nexec "$@"\n')
    launcher.chmod(0o755)
    monkeypatch.setenv("CXX", f"'{launcher}' {plain} -DMORE=1")
    found, reason = loader._find("portable")
    assert found is not None, reason
    assert "compiled with" in reason
    assert loader._find("portable")[1].endswith("compiled before")
    monkeypatch.setenv("CXX", f"'{launcher}' {plain}")  # without the argument: another library
    assert "no MORE" in loader._find("portable")[1]


@pytest.mark.usefixtures("small_source")
@pytest.mark.parametrize("name", ["no-such-compiler", "no-such-compiler -O2", "'g++"])
def test_a_chosen_compiler_that_is_not_there_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", name)
    found, reason = loader._find("auto")
    assert found is None
    assert f"$CXX is {name!r}" in reason


def homeless() -> Path:
    """In place of Path.home, for a user without an entry among those of the system."""
    raise RuntimeError("Could not determine home directory.")


@needs_compiler
@pytest.mark.usefixtures("small_source")
def test_without_a_home_there_is_a_reason_that_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    found, reason = loader._find("auto")
    assert found is None
    assert "XDG_CACHE_HOME" in reason
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "is no kernel library" in loader._find("portable")[1]


@needs_compiler
@pytest.mark.usefixtures("small_source")
def test_a_damaged_library_in_the_cache_is_compiled_anew() -> None:
    compiler = find_compiler()
    assert compiler is not None
    target = build.cached_library(compiler)
    target.parent.mkdir(parents=True)
    target.write_bytes(b"\x7fELF but not much more")
    build.compile_library(compiler, target)
    assert target.stat().st_size > 1000
    assert {path.name for path in target.parent.iterdir()} == {
        target.name,
        target.name + build.DIGEST,
    }


@needs_compiler
def test_a_library_of_another_source_is_refused(small_source: Path) -> None:
    compiler = find_compiler()
    assert compiler is not None
    target = build.cached_library(compiler)
    build.compile_library(compiler, target)
    with pytest.raises(OSError, match="is no kernel library"):
        Library(target)
    assert build.cached_library(compiler) == target
    (small_source / "more.h").write_text("// one more file\n")
    assert build.cached_library(compiler) != target


@needs_compiler
def test_what_does_not_compile_leaves_nothing_behind_and_says_why(small_source: Path) -> None:
    (small_source / "kernels.cpp").write_text("#error broken on purpose\n")
    compiler = find_compiler()
    assert compiler is not None
    target = build.cached_library(compiler)
    with pytest.raises(build.BuildFailed, match="broken on purpose"):
        build.compile_library(compiler, target)
    assert list(target.parent.iterdir()) == []


@needs_compiler
def test_where_the_cache_cannot_be_written_a_process_has_a_library_of_its_own(
    small_source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (small_source / "kernels.cpp").write_text(STUBS)
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (own := tmp_path / "own").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    found, reason = loader._find("portable")
    assert found is not None and found.instruction_set == "portable"
    assert "for this process alone" in reason and "cannot be written" in reason
    (warning,) = caplog.records
    assert "cannot be written" in warning.message and "XDG_CACHE_HOME" in warning.message
    assert list(own.iterdir()) == []


@needs_compiler
def test_where_no_folder_can_be_written_there_is_a_reason_and_no_crash(
    small_source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (small_source / "kernels.cpp").write_text(STUBS)
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    found, reason = loader._find("portable")
    assert found is None
    assert "cannot be written" in reason


@needs_compiler
def test_a_compilation_removes_what_nobody_has_used_for_long(
    small_source: Path,
) -> None:
    (small_source / "kernels.cpp").write_text(STUBS)
    days = {"old": 91, "used": 91, "young": 89}
    folders = {name: build.cache_folder() / name for name in days}
    for name, folder in folders.items():
        folder.mkdir(parents=True)
        for file in (build.LIBRARY_NAME, "tmp1.so", loader.FAILED):
            (folder / file).touch()
        for path in (*folder.iterdir(), folder):
            then = time.time() - days[name] * leftovers.DAY_S
            os.utime(path, (then, then))
    (folders["young"] / "tmp2.so").touch()  # by a process that compiles now
    leftovers.note_use(folders["used"] / build.LIBRARY_NAME)
    assert loader._find("portable")[0] is not None
    assert not folders["old"].exists()
    assert {path.name for path in folders["used"].iterdir()} == {build.LIBRARY_NAME, loader.FAILED}
    kept = {build.LIBRARY_NAME, loader.FAILED, "tmp2.so"}
    assert {path.name for path in folders["young"].iterdir()} == kept
    assert loader._find("portable")[1].endswith("compiled before")
