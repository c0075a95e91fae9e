"""A queue whose graphs run their program again: captured steps, without a device that captures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from yaie.device.queue import PlainQueue


@dataclass(frozen=True)
class Repetition:
    """Implements `Graph`."""

    program: Callable[[], None]
    nbytes: int = 0

    def replay(self) -> None:
        self.program()


class RepeatingQueue(PlainQueue):
    """Implements `DeviceQueue`; everything takes place at once."""

    can_capture = True

    def capture(self, program: Callable[[], None]) -> Repetition:
        program()
        return Repetition(program)
