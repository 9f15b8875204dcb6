"""A model made ready for a device: runs on shared buffers, tells its dims, exports itself.

:class:`PreparedModel` is the interface's IPreparedModel in the manner of Python: results are returned, refusals are
:class:`~pippin.nnrt.errors.NnrtError` with the code that the interface would answer.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..errors import PippinError
from ..runtime.session import Session
from .buffers import Mapped, Mappings, Region
from .cache import Compiled, Port, pack_compiled, total
from .config import session_options, threads
from .enums import DataType, Format, ReturnCode
from .errors import NnrtError, as_nnrt
from .gate import Call, Gate
from .ports import MAX_DIM, arrays, labels
from .types import IOTensor, ModelConfig, SharedBuffer, byte_size, element_count, numpy_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

BINDINGS = 16
"""Sets of buffers that stay bound for the next run."""


class PreparedModel:
    """A compiled model on a device; safe to run from several threads.

    ``inputs`` and ``outputs`` describe what :meth:`run` takes and fills, in order.
    """

    def __init__(
        self,
        compiled: Compiled,
        config: ModelConfig,
        mappings: Mappings,
        gate: Gate,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """``options``: further entries for the engine's configuration."""
        self.inputs: tuple[Port, ...] = tuple(compiled.inputs)
        self.outputs: tuple[Port, ...] = tuple(compiled.outputs)
        self.config = config
        self._compiled = compiled
        self._mappings = mappings
        self._gate = gate
        self._exported: list[SharedBuffer] = []
        self._lock = threading.RLock()  # finalizers may run while it is held
        self._bound: OrderedDict[Any, list[Any]] = OrderedDict()
        self._watched: weakref.WeakSet[Region] = weakref.WeakSet()
        self._fixed = all(element_count(port.dims) >= 0 for port in (*self.inputs, *self.outputs))
        self._sizes = {port.key: byte_size(port.data_type, port.dims) for port in (*self.inputs, *self.outputs)}
        self._plain = not any(port.data_type == DataType.BOOL for port in self.inputs)
        self._session = Session(
            compiled.written,
            threads=threads(config.mode),
            providers=[compiled.provider],
            options={**session_options(config.mode), **(options or {})},
        )

    # -- the interface -----------------------------------------------------------------------------------------------

    def export_cache(self) -> list[SharedBuffer]:
        """The prepared model as one buffer for ``Device.prepare_from_cache``; the same one on each call."""
        with self._lock:
            if not self._exported:
                pieces = pack_compiled(self._compiled)
                region = Region(total(pieces), name="pippin-cache")
                array, end = region.array, 0
                for piece in pieces:
                    size = memoryview(piece).nbytes
                    array[end : end + size] = memoryview(piece)
                    end += size
                self._exported = [region.buffer()]
            return list(self._exported)

    def input_dim_ranges(self) -> tuple[list[list[int]], list[list[int]]]:
        """The least and the greatest size of each dim of each input: the dim itself if fixed, else 1 and MAX_DIM."""
        least = [[dim if dim >= 0 else 1 for dim in port.dims] for port in self.inputs]
        most = [[dim if dim >= 0 else MAX_DIM for dim in port.dims] for port in self.inputs]
        return least, most

    def run(
        self, inputs: Sequence[IOTensor], outputs: Sequence[IOTensor], *, call: Call | None = None
    ) -> list[list[int]]:
        """Computes ``outputs`` from ``inputs``, both in shared memory; returns the dims of each output.

        An output's room is its dataSize, or where that is 0 what lies behind its offset.  NnrtError, checked in this
        order: INVALID_INPUT (their number), then for each input INVALID_DATATYPE, INVALID_FORMAT (NONE fits all),
        INVALID_SHAPE, OUT_OF_DIMENTION_RANGES; INVALID_PARAMETER (an input's memory); INVALID_OUTPUT (their number);
        INVALID_DATATYPE and INVALID_PARAMETER for outputs, also where two of them overlap; INSUFFICIENT_BUFFER, with
        ``error.output_dims``; FAILED.  Nothing is written where an output is too small.

        ``call`` lets another thread stop the run, or a time limit: CANCELLED, TIME_OUT.
        """
        if call is not None and call.timeout is not None:
            with call.limited():
                return self._checked_run(inputs, outputs, call)
        return self._checked_run(inputs, outputs, call)

    def _checked_run(
        self, inputs: Sequence[IOTensor], outputs: Sequence[IOTensor], call: Call | None
    ) -> list[list[int]]:
        shapes = self._check_inputs(inputs)
        sources = [
            self._look(tensor, port, shape) for tensor, port, shape in zip(inputs, self.inputs, shapes, strict=True)
        ]
        targets = self._check_outputs(outputs)
        if self._fixed:
            self._check_room(outputs, [port.dims for port in self.outputs])
            if self._plain:
                key = tuple(
                    (id(mapped), tensor.data.offset, tensor.data.dataSize)
                    for mapped, tensor in zip((*sources, *targets), (*inputs, *outputs), strict=True)
                )
                binding = self._binding(key, inputs, outputs, sources, targets)
                if binding is not None:
                    self._run_bound(key, binding, call)
                    return [list(port.dims) for port in self.outputs]
        return self._run_copying(inputs, outputs, shapes, targets, call)

    # -- convenience -------------------------------------------------------------------------------------------------

    def predict(self, values: Mapping[str, Any] | Sequence[Any]) -> dict[str, NDArray[Any]]:
        """Runs on plain arrays, by input name or in order; returns the outputs by name, or by place without one.

        Of equal names the later ones get _1, _2 and so on.  InputError if an array is missing, unknown, holds no
        numbers or has the wrong dims; dtypes are converted.
        """
        import numpy as np

        feeds = {
            port.key: np.ascontiguousarray(array).reshape(array.shape)
            for port, array in zip(self.inputs, arrays(self.inputs, values), strict=True)
        }
        with self._gate.admitted(self.config.priority):
            results = self._session.run(feeds)
        return dict(zip(labels(self.outputs), results, strict=True))

    def release(self) -> None:
        """Lets go of bound buffers and of the exported cache; the model stays usable."""
        with self._lock:
            self._bound.clear()
            self._exported = []

    def forget(self, key: tuple[int, int]) -> None:
        """Lets go of what is bound to one file, as ``Mapped.key`` tells it."""
        self._mappings.forget_file(key)
        with self._lock:
            for name, ready in list(self._bound.items()):
                if any(mapped.key == key for binding in ready for mapped in binding[1]):
                    del self._bound[name]

    # -- checks ------------------------------------------------------------------------------------------------------

    def _check_inputs(self, inputs: Sequence[IOTensor]) -> list[list[int]]:
        if len(inputs) != len(self.inputs):
            raise NnrtError(ReturnCode.INVALID_INPUT, f"{len(self.inputs)} inputs are required, got {len(inputs)}")
        shapes = []
        for place, (port, tensor) in enumerate(zip(self.inputs, inputs, strict=True)):
            if tensor.dataType != port.data_type:
                raise self._refusal(ReturnCode.INVALID_DATATYPE, place, f"{port.data_type!r}", tensor.dataType)
            if tensor.format != port.format and tensor.format != Format.NONE:
                raise self._refusal(ReturnCode.INVALID_FORMAT, place, f"{port.format!r}", tensor.format)
            shape = tensor.dimensions
            if shape != port.dims or not self._fixed:
                bad = self._bad_dims(port, shape)
                if bad:
                    raise self._refusal(bad, place, f"dims {port.dims}", list(shape))
            shapes.append(list(shape))
        return shapes

    @staticmethod
    def _bad_dims(port: Port, shape: Sequence[int]) -> ReturnCode | None:
        if len(shape) != len(port.dims) or any(
            want >= 0 and have != want for have, want in zip(shape, port.dims, strict=True)
        ):
            return ReturnCode.INVALID_SHAPE
        if any(not 1 <= have <= MAX_DIM for have, want in zip(shape, port.dims, strict=True) if want < 0):
            return ReturnCode.OUT_OF_DIMENTION_RANGES
        return None

    def _refusal(self, code: ReturnCode, place: int, wanted: str, got: Any) -> NnrtError:
        return NnrtError(code, f"{wanted} is required, got {got}", where=f"input {place} {self.inputs[place].name!r}")

    def _look(self, tensor: IOTensor, port: Port, shape: Sequence[int]) -> Mapped:
        mapped = self._mappings.look(tensor.data, ReturnCode.INVALID_PARAMETER)
        size = self._sizes[port.key] if self._fixed else byte_size(port.data_type, shape)
        if tensor.data.dataSize < size:
            raise NnrtError(
                ReturnCode.INVALID_PARAMETER,
                f"dataSize must be at least {size} for dims {list(shape)}, got {tensor.data.dataSize}",
                where=f"input {port.name!r}",
            )
        return mapped

    def _check_outputs(self, outputs: Sequence[IOTensor]) -> list[Mapped]:
        if len(outputs) != len(self.outputs):
            raise NnrtError(ReturnCode.INVALID_OUTPUT, f"{len(self.outputs)} outputs are required, got {len(outputs)}")
        targets = []
        for port, tensor in zip(self.outputs, outputs, strict=True):
            if tensor.dataType != port.data_type and tensor.dataType != DataType.UNKNOWN:
                raise NnrtError(
                    ReturnCode.INVALID_DATATYPE,
                    f"{port.data_type!r} is required, got {tensor.dataType}",
                    where=f"output {port.name!r}",
                )
            mapped = self._mappings.look(tensor.data, ReturnCode.INVALID_PARAMETER)
            if not mapped.writable:
                raise NnrtError(
                    ReturnCode.INVALID_PARAMETER, "the memory cannot be written", where=f"output {port.name!r}"
                )
            targets.append(mapped)
        if len(targets) > 1:
            self._check_overlap(outputs, targets)
        return targets

    @staticmethod
    def _check_overlap(outputs: Sequence[IOTensor], targets: Sequence[Mapped]) -> None:
        spans = sorted(
            (mapped.key, tensor.data.offset, tensor.data.offset + _room(tensor.data))
            for mapped, tensor in zip(targets, outputs, strict=True)
        )
        for (key, _, end), (other, begin, _) in pairwise(spans):
            if key == other and begin < end:
                raise NnrtError(ReturnCode.INVALID_PARAMETER, "two outputs overlap in memory")

    def _check_room(self, outputs: Sequence[IOTensor], dims: list[list[int]]) -> None:
        for port, tensor, shape in zip(self.outputs, outputs, dims, strict=True):
            size = self._sizes[port.key] if self._fixed else byte_size(port.data_type, shape)
            if size > _room(tensor.data):
                raise NnrtError(
                    ReturnCode.INSUFFICIENT_BUFFER,
                    f"{size} bytes are required for dims {shape}, there is room for {_room(tensor.data)}",
                    where=f"output {port.name!r}",
                    output_dims=[list(shape) for shape in dims],
                )

    # -- running -----------------------------------------------------------------------------------------------------

    def _binding(
        self,
        key: Any,
        inputs: Sequence[IOTensor],
        outputs: Sequence[IOTensor],
        sources: Sequence[Mapped],
        targets: Sequence[Mapped],
    ) -> Any:
        """Buffers bound for the engine: (binding, what they need to stay alive); None where they must be copied."""
        with self._lock:
            ready = self._bound.get(key)
            if ready:
                return ready.pop()
        if any(mapped.data is None for mapped in (*sources, *targets)) or _overlap(inputs, outputs, sources, targets):
            return None
        binding = self._session.binding()
        for ports, tensors, maps, bind in (
            (self.inputs, inputs, sources, binding.bind_input),
            (self.outputs, outputs, targets, binding.bind_output),
        ):
            for port, tensor, mapped in zip(ports, tensors, maps, strict=True):
                assert mapped.data is not None
                dtype = numpy_type(port.data_type)
                address = mapped.data.ctypes.data + tensor.data.offset
                if address % dtype.itemsize:
                    return None
                bind(port.key, "cpu", 0, dtype, port.dims, address)
        for tensor, mapped in zip((*inputs, *outputs), (*sources, *targets), strict=True):
            self._watch(tensor.data.owner, mapped.key)
        return binding, (*sources, *targets)

    def _watch(self, owner: Any, key: tuple[int, int]) -> None:
        """What is bound must not keep memory that nobody has any more."""
        if not isinstance(owner, Region):
            return
        with self._lock:
            if owner in self._watched:
                return
            self._watched.add(owner)
        weakref.finalize(owner, _ownerless, weakref.ref(self), key).atexit = False

    def _run_bound(self, key: Any, binding: Any, call: Call | None) -> None:
        self._gate.enter(self.config.priority, call)
        try:
            self._session.run_bound(binding[0], call and call.options)
        except PippinError as error:
            if call is not None:
                call.check()
            raise as_nnrt(error, ReturnCode.FAILED) from None
        finally:
            self._gate.leave()
        with self._lock:
            ready = self._bound.get(key)
            if ready is None:
                self._bound[key] = [binding]
                while len(self._bound) > BINDINGS:
                    self._bound.popitem(last=False)
            else:
                ready.append(binding)

    def _run_copying(
        self,
        inputs: Sequence[IOTensor],
        outputs: Sequence[IOTensor],
        shapes: list[list[int]],
        targets: Sequence[Mapped],
        call: Call | None,
    ) -> list[list[int]]:
        """The way for dims that are not fixed, memory that cannot be mapped, overlap, odd addresses and bools."""
        import numpy as np

        feeds = {}
        for port, tensor, shape in zip(self.inputs, inputs, shapes, strict=True):
            dtype = numpy_type(port.data_type)
            raw = self._mappings.read(tensor.data, ReturnCode.INVALID_PARAMETER).array[
                : byte_size(port.data_type, shape)
            ]
            if dtype == np.bool_:
                raw = raw != 0
            elif raw.ctypes.data % dtype.itemsize:
                raw = raw.copy()
            feeds[port.key] = raw.view(dtype).reshape(shape)
        try:
            with self._gate.admitted(self.config.priority, call):
                results = self._session.run(feeds, options=call and call.options)
        except PippinError as error:
            if call is not None:
                call.check()
            raise as_nnrt(error, ReturnCode.FAILED) from None
        dims = [list(array.shape) for array in results]
        self._check_room(outputs, dims)
        for tensor, array in zip(outputs, results, strict=True):
            buffer = tensor.data
            room = SharedBuffer(buffer.fd, buffer.bufferSize, buffer.offset, array.nbytes)
            window = self._mappings.write(room, ReturnCode.INVALID_PARAMETER)
            window.array[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            if window.commit is not None:
                window.commit()
        return dims


def _ownerless(model: weakref.ref[PreparedModel], key: tuple[int, int]) -> None:
    found = model()
    if found is not None:
        found.forget(key)


def _room(buffer: SharedBuffer) -> int:
    return buffer.dataSize or buffer.bufferSize - buffer.offset


def _overlap(
    inputs: Sequence[IOTensor], outputs: Sequence[IOTensor], sources: Sequence[Mapped], targets: Sequence[Mapped]
) -> bool:
    """Whether an output lies on an input: then the input must not be written before it is read to the end."""
    for output, target in zip(outputs, targets, strict=True):
        begin, end = output.data.offset, output.data.offset + _room(output.data)
        for tensor, source in zip(inputs, sources, strict=True):
            first, last = tensor.data.offset, tensor.data.offset + tensor.data.dataSize
            if source.key == target.key and first < end and begin < last:
                return True
    return False
