"""A strict device double: real values behind torch's PrivateUse1, in a stream of its own.

A `DeviceTensor` says that it is on "strict" and holds a CPU tensor. Operations on it go into a
stream and run later, in order, as on a real device: when the host waits, or whenever a test lets
the stream advance. Waits for the device are refused inside `forbid_waits` and inside `capture`. A
capture records operations with their addresses; a replay puts them on the stream again.

torch's interface for such backends is private: `test_strict.py` pins what is used of it.
"""

from __future__ import annotations

import contextlib
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch.utils import backend_registration

NAME = "strict"
_aten = torch.ops.aten

# Operations that need a value on the host: the result itself, or the shape of the result.
WAITING = {
    _aten._local_scalar_dense.default,
    _aten.bincount.default,
    _aten.equal.default,
    _aten.masked_select.default,
    _aten.nonzero.default,
    _aten.repeat_interleave.Tensor,
    _aten._unique2.default,
    _aten.unique_consecutive.default,
    _aten.unique_dim.default,
}
POISON = {torch.bool: True}  # of other types: NaN, or the least integer


class Refused(RuntimeError):
    """An operation that the device cannot do here."""


@dataclass(eq=False)
class Memory:
    """One allocation, shared by a tensor and its views; it dies with the last of them."""

    nbytes: int


@dataclass(frozen=True)
class Recorded:
    """One operation of a capture."""

    name: str
    scalars: tuple[Any, ...]  # arguments that are no tensors: baked into the graph
    reads: tuple[int, ...]  # addresses
    writes: tuple[int, ...]
    run: Callable[[], None] = field(repr=False, compare=False)


class Recording:
    """The operations of one capture."""

    def __init__(self) -> None:
        self.operations: list[Recorded] = []
        self._outside: dict[int, weakref.ref[Memory]] = {}  # allocations from before, by address
        self._own: dict[int, Memory] = {}  # kept, so that their addresses stay theirs
        self._own_addresses: dict[int, int] = {}

    def own(self, made: DeviceTensor) -> None:
        """Note a tensor that was made during the capture."""
        self._own[id(made.memory)] = made.memory
        self._own_addresses[made.data_ptr()] = len(self._own_addresses)

    def add(self, operation: Recorded, touched: list[DeviceTensor]) -> None:
        self.operations.append(operation)
        for each in touched:
            if id(each.memory) not in self._own:
                self._outside[each.data_ptr()] = weakref.ref(each.memory)

    def replay(self) -> None:
        """Put the operations on the stream again."""
        for address, memory in self._outside.items():
            if memory() is None:
                raise Refused(f"the graph uses {address:#x}, which has been freed since")
        for operation in self.operations:
            device.put(operation.run)

    def signature(self) -> list[tuple[object, ...]]:
        """Return the operations with baked scalars and addresses; equal for equal programs.

        Memory that the program made itself is numbered.
        """

        def place(address: int) -> object:
            if address in self._outside:
                return address
            return "own", self._own_addresses.get(address, "a view")

        return [
            (each.name, each.scalars, *map(place, each.reads), *map(place, each.writes))
            for each in self.operations
        ]


class Device:
    """The stream of the double, and its rules of the moment."""

    def __init__(self) -> None:
        self.stream: deque[Callable[[], None]] = deque()
        self.num_done = 0  # operations that ran
        self.num_launched = 0
        self.recording: Recording | None = None
        self._num_forbidding = 0

    @property
    def forbids_waits(self) -> bool:
        return self._num_forbidding > 0 or self.recording is not None

    def reset(self) -> None:
        """Forget what an earlier test left behind."""
        self.__init__()  # type: ignore[misc]

    def put(self, run: Callable[[], None]) -> None:
        self.stream.append(run)
        self.num_launched += 1

    def advance(self, count: int) -> None:
        """Run the next `count` operations of the stream."""
        with torch.inference_mode(False), torch.no_grad():
            for _ in range(min(count, len(self.stream))):
                self.stream.popleft()()
                self.num_done += 1

    def advance_to(self, number: int) -> None:
        self.advance(number - self.num_done)

    def wait(self, why: str) -> None:
        """Run the whole stream. Raises `Refused` where waits are forbidden."""
        if self.forbids_waits:
            raise Refused(f"{why} waits for the device")
        self.advance(len(self.stream))

    @contextlib.contextmanager
    def forbid_waits(self) -> Iterator[None]:
        self._num_forbidding += 1
        try:
            yield
        finally:
            self._num_forbidding -= 1

    @contextlib.contextmanager
    def capture(self) -> Iterator[Recording]:
        assert self.recording is None, "captures do not nest"
        self.recording = Recording()
        try:
            yield self.recording
        finally:
            self.recording = None


device = Device()


class DeviceTensor(torch.Tensor):
    """A tensor on the double. `raw` has its values once the stream got there."""

    raw: torch.Tensor
    memory: Memory

    @staticmethod
    def __new__(cls, raw: torch.Tensor, memory: Memory | None = None) -> DeviceTensor:
        self = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            raw.size(),
            strides=raw.stride(),
            storage_offset=raw.storage_offset(),
            dtype=raw.dtype,
            device=NAME,
        )
        self.raw = raw
        self.memory = memory or Memory(raw.untyped_storage().nbytes())
        return self

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if _is_composite(func):
            result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        # Raw tensors are ordinary ones, so that closures may write to them in any mode.
        with torch.inference_mode(False), torch.no_grad():
            return _dispatch(func, args, kwargs)

    def tolist(self) -> Any:
        device.wait("tolist")
        return self.raw.tolist()

    def data_ptr(self) -> int:
        return self.raw.data_ptr()

    def __repr__(self, **_: object) -> str:
        return f"DeviceTensor({tuple(self.shape)}, {self.dtype})"


def poison(raw: torch.Tensor) -> torch.Tensor:
    """Fill memory without a value yet."""
    if raw.dtype.is_floating_point:
        return raw.fill_(float("nan"))
    return raw.fill_(POISON.get(raw.dtype) or torch.iinfo(raw.dtype).min)


def to_device(values: torch.Tensor) -> DeviceTensor:
    """Return a copy on the double, there at once: for a test's preparations."""
    setup()
    with torch.inference_mode(False), torch.no_grad():
        return DeviceTensor(values.detach().clone())


def on_host(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy of the values after everything launched: for a test's assertions."""
    assert isinstance(tensor, DeviceTensor)
    device.wait("on_host")
    return tensor.raw.clone()


def _dispatch(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    leaves = list(tree_iter((args, kwargs)))
    reads = [each for each in leaves if isinstance(each, DeviceTensor)]
    hosts = [
        each
        for each in leaves
        if isinstance(each, torch.Tensor) and not isinstance(each, DeviceTensor)
    ]
    name = str(func)
    if func in WAITING or _has_boolean_index(func, args):
        device.wait(name)
        return _run_now(func, args, kwargs)
    if func is _aten._to_copy.default and _goes_to_host(kwargs):
        device.wait(f"{name} to the host")
        return _run_now(func, args, kwargs, wrap=False)
    if func is _aten.copy_.default and hosts and reads:
        device.wait(f"{name} between host and device")
        return _run_now(func, args, kwargs, wrap=False)
    if [each for each in hosts if each.dim() > 0] and reads:
        raise Refused(f"{name} mixes tensors of host and device")
    if hosts and not reads:  # _to_copy of a tensor of the host
        device.wait(f"{name} from pageable memory")
    kwargs = {key: "cpu" if key == "device" else each for key, each in kwargs.items()}
    if _is_view(func):
        raw_args, raw_kwargs = _raw((args, kwargs))
        (source,) = reads[:1]
        return tree_map_only(
            torch.Tensor,
            lambda raw: DeviceTensor(raw, source.memory),
            func(*raw_args, **raw_kwargs),
        )
    return _launch(func, args, kwargs, reads)


def _launch(func: Any, args: Any, kwargs: Any, reads: list[DeviceTensor]) -> Any:
    """Put an operation on the stream, or into the recording, with memory for its results."""
    # Values of scalar tensors are read now: a kernel gets them with its launch.
    args, kwargs = tree_map_only(
        torch.Tensor,
        lambda each: each if isinstance(each, DeviceTensor) else each.clone(),
        (args, kwargs),
    )
    written = _written(func, args, kwargs)
    raw_args, raw_kwargs = _raw((args, kwargs))
    made: list[DeviceTensor] = []
    if written:
        result = written[0] if len(written) == 1 else tuple(written)

        def run() -> None:
            func(*raw_args, **raw_kwargs)
    else:

        def make(like: torch.Tensor) -> DeviceTensor:
            raw = torch.empty_strided(like.size(), like.stride(), dtype=like.dtype)
            made.append(DeviceTensor(poison(raw)))
            return made[-1]

        result = tree_map_only(torch.Tensor, make, _result_like(func, args, kwargs))
        targets = [each.raw for each in made]

        def run() -> None:
            computed = func(*raw_args, **raw_kwargs)
            for target, each in zip(
                targets,
                [each for each in tree_iter(computed) if isinstance(each, torch.Tensor)],
                strict=True,
            ):
                target.copy_(each)

    if device.recording is None:
        device.put(run)
    else:
        scalars = tuple(
            each.item() if isinstance(each, torch.Tensor) else each
            for each in tree_iter((args, kwargs))
            if not isinstance(each, DeviceTensor)
        )
        for each in made:
            device.recording.own(each)
        operation = Recorded(
            str(func),
            scalars,
            tuple(each.data_ptr() for each in reads),
            tuple(each.data_ptr() for each in (*written, *made)),
            run,
        )
        device.recording.add(operation, [*reads, *made])
    return result


def _run_now(func: Any, args: Any, kwargs: dict[str, Any], *, wrap: bool = True) -> Any:
    raw_args, raw_kwargs = _raw((args, kwargs))
    result = func(*raw_args, **raw_kwargs)
    if func is _aten.copy_.default:
        return args[0]
    return tree_map_only(torch.Tensor, DeviceTensor, result) if wrap else result


def _raw(arguments: Any) -> Any:
    return tree_map_only(DeviceTensor, lambda each: each.raw, arguments)


_results: dict[Any, Any] = {}  # by operation and arguments: meta tensors take long to compute


def _result_like(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Return the results of an operation on the meta device."""
    key = (func, *map(_description, tree_iter((args, kwargs))))
    if key not in _results:
        on_meta = {"device": "meta"} if "device" in kwargs else {}
        _results[key] = func(*_meta(args), **{**_meta(kwargs), **on_meta})
    return _results[key]


def _description(argument: Any) -> Any:
    if isinstance(argument, torch.Tensor):
        return argument.shape, argument.stride(), argument.dtype, type(argument)
    return type(argument), argument


def _meta(arguments: Any) -> Any:
    return tree_map_only(
        DeviceTensor,
        lambda each: torch.empty_strided(
            each.raw.size(), each.raw.stride(), dtype=each.raw.dtype, device="meta"
        ),
        arguments,
    )


def tree_map_only(kind: type, function: Callable[[Any], Any], tree: Any) -> Any:
    """Apply a function to the leaves of a type. torch's own serves more trees, ten times slower."""
    if isinstance(tree, kind):
        return function(tree)
    if isinstance(tree, tuple | list):
        return type(tree)([tree_map_only(kind, function, each) for each in tree])
    if isinstance(tree, dict):
        return {key: tree_map_only(kind, function, each) for key, each in tree.items()}
    return tree


def tree_iter(tree: Any) -> Iterator[Any]:
    """Yield the leaves."""
    if isinstance(tree, tuple | list):
        for each in tree:
            yield from tree_iter(each)
    elif isinstance(tree, dict):
        for each in tree.values():
            yield from tree_iter(each)
    else:
        yield tree


@cache
def _is_composite(func: Any) -> bool:
    key = "CompositeImplicitAutograd"
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key))


@cache
def _is_view(func: Any) -> bool:
    returns = func._schema.returns
    return bool(returns) and any(
        each.alias_info is not None and not each.alias_info.is_write for each in returns
    )


def _written(func: Any, args: Any, kwargs: Any) -> list[DeviceTensor]:
    """Return the arguments that an operation writes, in order."""
    found = []
    for place, argument in enumerate(func._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = kwargs.get(argument.name, args[place] if place < len(args) else None)
        found += [each for each in tree_iter(value) if isinstance(each, DeviceTensor)]
    return found


def _has_boolean_index(func: Any, args: Any) -> bool:
    if func not in (_aten.index.Tensor, _aten.index_put_.default, _aten.index_put.default):
        return False
    return any(each is not None and each.dtype is torch.bool for each in args[1])


def _goes_to_host(kwargs: dict[str, Any]) -> bool:
    target = kwargs.get("device")
    return target is not None and torch.device(target).type == "cpu"


class _NoDevices(backend_registration._DummyBackendModule):  # type: ignore[misc]
    """The backend's module: it tells the rest of the process that there is no accelerator."""

    def is_available(self) -> bool:
        return False

    def device_count(self) -> int:
        return 0


class _Unavailable(backend_registration._DummyPrivateUse1Hook):  # type: ignore[misc]
    def is_available(self) -> bool:
        return False


_library = torch.library.Library("aten", "IMPL")


@cache
def setup() -> None:
    """Register the backend with torch, once a process."""
    hook, module = _Unavailable(), _NoDevices()
    backend_registration._setup_privateuseone_for_python_backend(NAME, module, hook)

    def make(name: str, func: Any) -> None:
        def create(*args: Any, **kwargs: Any) -> DeviceTensor:
            kwargs.pop("pin_memory", None)
            with torch.inference_mode(False), torch.no_grad():
                if "empty" not in name:
                    result: DeviceTensor = _launch(func, args, {**kwargs, "device": "cpu"}, [])
                    return result
                made = DeviceTensor(poison(func(*args, **{**kwargs, "device": "cpu"})))
                if device.recording is not None:
                    device.recording.own(made)
                return made

        _library.impl(name, create, "PrivateUse1")

    make("empty.memory_format", _aten.empty.memory_format)
    make("empty_strided", _aten.empty_strided.default)
    # Their general forms resize a result after it was made.
    make("arange", _aten.arange.default)
    make("arange.start", _aten.arange.start)
    make("arange.start_step", _aten.arange.start_step)

    def copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> Any:
        with torch.inference_mode(False), torch.no_grad():
            return _dispatch(_aten.copy_.default, (target, source), {})

    _library.impl("_copy_from", copy_from, "PrivateUse1")
