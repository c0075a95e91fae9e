"""The queue of the strict device: copies run late, and host memory is poisoned until they do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from tests.device import strict
from tests.device.strict import DeviceTensor, Recording, Refused, device
from yaie.device.queue import DeviceMemory

_GARBAGE = 0xA5


@dataclass(frozen=True)
class DelayedMark:
    place: int

    def wait(self) -> None:
        device.advance_to(self.place)


@dataclass(frozen=True)
class DelayedGraph:
    recording: Recording
    nbytes: int = 1

    def replay(self) -> None:
        self.recording.replay()


class DelayedQueue:
    """Implements `DeviceQueue`; `hesitate` lets some of the stream run before each call."""

    can_capture = True

    def __init__(self, hesitate: Callable[[], int] = lambda: 0) -> None:
        strict.setup()
        self.device = torch.device(strict.NAME)
        self._hesitate = hesitate
        self.num_uploads = 0
        self.num_downloads = 0
        self.memory_now = DeviceMemory(used=0, total=0, reserved=0)
        self.num_measurements = 0
        self.seconds_now: float | None = None  # the device's time for anything
        self.cache_now: int | None = None

    def memory(self) -> DeviceMemory:
        self.num_measurements += 1
        return self.memory_now

    def cache_bytes(self) -> int | None:
        return self.cache_now

    def device_seconds(self, run: Callable[[], None]) -> float | None:
        run()
        device.advance_to(device.num_launched)
        return self.seconds_now

    def host_buffer(self, nbytes: int) -> torch.Tensor:
        with torch.inference_mode(False):  # the stream writes it in any mode
            return torch.full((nbytes,), _GARBAGE, dtype=torch.uint8)

    def upload(self, target: torch.Tensor, source: torch.Tensor) -> None:
        raw = self._raw(target)
        device.put(lambda: raw.copy_(source))  # reads the source when it runs, not now
        self.num_uploads += 1

    def download(self, target: torch.Tensor, source: torch.Tensor) -> None:
        raw = self._raw(source)
        target.fill_(_GARBAGE)
        device.put(lambda: target.copy_(raw))
        self.num_downloads += 1

    def mark(self) -> DelayedMark:
        device.advance(self._hesitate())
        return DelayedMark(device.num_launched)

    def capture(self, program: Callable[[], None]) -> DelayedGraph:
        with device.capture() as recording:
            program()
        return DelayedGraph(recording)

    def _raw(self, tensor: torch.Tensor) -> torch.Tensor:
        assert isinstance(tensor, DeviceTensor)
        if device.recording is not None:
            raise Refused("a copy between host and device inside a capture")
        device.advance(self._hesitate())
        return tensor.raw
