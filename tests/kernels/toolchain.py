"""A compiler and libraries that are fakes, for tests of the loader: a start takes milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from yaie.kernels import build
from yaie.kernels.library import Library, NoUsableSet
from yaie.kernels.library_search import LibraryLoader

HEADER = "library with "


class FakeLibrary(Library):
    """A library of which only the instruction sets exist; this processor has `portable` alone."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(errors="replace")
        if not text.startswith(HEADER):
            raise OSError(f"{path} is not a kernel library")
        self.path = path
        if not {"portable", "all"} & set(text.removeprefix(HEADER).split(",")):
            raise NoUsableSet(f"{path} was compiled for another processor")

    @property
    def instruction_set(self) -> str:
        return "portable"

    def use_instruction_set(self, name: str) -> None:
        assert name == "portable"


@dataclass
class FakeCompiler:
    """A compiler that writes the names of the requested sets, and records its runs."""

    lacks: Sequence[str] = ()  # sets that do not compile
    broken: str = "\0"  # name of the program that fails
    writes: str | None = None  # in place of a library
    compiled: list[tuple[str, ...]] = field(default_factory=list)
    commands: list[list[str]] = field(default_factory=list)

    def __call__(self, command: list[str]) -> None:
        prefix, suffix = "-DYAIE_WITH_", "=1"
        sets = [
            part.removeprefix(prefix).removesuffix(suffix)
            for part in command
            if part.startswith(prefix)
        ]
        self.compiled.append(tuple(sets))
        self.commands.append(command)
        if Path(command[0]).name == self.broken:
            raise build.BuildFailed("error: no headers")
        for name in sets:
            if name in self.lacks:
                raise build.BuildFailed(f"error: {name} is not in this compiler")
        Path(command[-1]).write_text(self.writes or HEADER + ",".join(sets or ("all",)))


@dataclass
class Machine:
    """A machine whose processes load their kernels one after the other."""

    folder: Path
    compiler: FakeCompiler

    def start(self, option: str = "auto") -> tuple[Library | None, str]:
        """Return what a new process finds, and its reason."""
        loader = LibraryLoader(
            option,
            prebuilt=self.folder / "prebuilt.so",
            run_compiler=self.compiler,
            open_library=FakeLibrary,
        )
        return loader.load(), loader.status().reason
