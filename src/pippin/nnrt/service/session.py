"""What one client has at the service: its memory, its prepared models, and the methods that it may call."""

from __future__ import annotations

import itertools
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import PippinError, ReadError
from ..cache import Compiled
from ..device import Device
from ..enums import ReturnCode as C
from ..errors import NnrtError, as_nnrt
from ..gate import Call, Gate
from ..lower import Lowered
from ..parcel import ParcelReader, ParcelWriter
from ..prepared_model import PreparedModel
from ..types import IOTensor, Model, byte_size
from . import marshal
from .limits import Budget, Limits
from .memory import Attached, SessionMappings
from .protocol import FIRST_MODEL, NO_DESCRIPTOR, Frame, ModelMethod, close_all
from .store import Store

HDI_VERSION = (2, 1)
_KEPT_BODY, _KEPT_BODIES = 4096, 128
"""Bodies of Run up to this size, and so many of them, are kept with what was read from them."""
_KEPT_SHAPES = 64


@dataclass(frozen=True)
class Shared:
    """What all clients share: the devices' queues, the store of compiled models, the limits."""

    providers: tuple[str, ...]
    gates: tuple[Gate, ...]
    limits: Limits
    store: Store
    files: bool = False
    options: dict[str, str] = field(default_factory=dict)


class ServiceDevice(Device):
    """A device that refuses graphs which need more memory than a run may have."""

    def __init__(self, provider: str, gate: Gate, mappings: SessionMappings, shared: Shared) -> None:
        super().__init__(provider, gate=gate, mappings=mappings, options=shared.options)
        self.run_bytes = shared.limits.run_bytes

    def _admit(self, lowered: Lowered) -> None:
        from ...runtime.memory import estimate

        need = estimate(lowered.graph).values
        if need > self.run_bytes:
            raise NnrtError(C.OUT_OF_MEMORY, f"a run may need {self.run_bytes} bytes, this model needs about {need}")


@dataclass
class Entry:
    """A prepared model of a client."""

    prepared: PreparedModel
    compiled: Compiled
    device: ServiceDevice
    key: bytes
    size: int
    shapes: OrderedDict[Any, None] = field(default_factory=OrderedDict)


Handler = Callable[["Session", Frame, ParcelReader, list[Attached]], bytes]
SERVICE: dict[int, Handler] = {}
DEVICE: dict[int, Handler] = {}
MODEL: dict[int, Handler] = {}
"""The methods of the three kinds of objects, filled by :mod:`pippin.nnrt.service.methods`; Run has a way of its own."""


class Session:
    """One client; its requests may come over several connections at a time."""

    def __init__(self, shared: Shared, user: int) -> None:
        self.token = secrets.token_bytes(16)
        self.user = user
        self.shared = shared
        limits = shared.limits
        self.limits = limits
        self.descriptors = Budget(limits.descriptors, "descriptors")
        self.shared_bytes = Budget(limits.shared_bytes, "bytes of shared memory")
        self.models_budget = Budget(limits.models, "prepared models")
        self.model_bytes = Budget(limits.model_bytes, "bytes of constants")
        self.mappings = SessionMappings(self.descriptors, self.shared_bytes)
        self.devices = [
            ServiceDevice(provider, gate, self.mappings, shared)
            for provider, gate in zip(shared.providers, shared.gates, strict=True)
        ]
        self.models: dict[int, Entry] = {}
        self.attached: dict[int, Attached] = {}
        self._numbers = itertools.count(FIRST_MODEL)
        self._lock = threading.Lock()
        self._bodies: OrderedDict[tuple[int, bytes], Any] = OrderedDict()
        self._generation = 0

    def close(self) -> None:
        """Lets everything go; runs that still go on keep what they use."""
        self.models.clear()
        self.attached.clear()
        with self._lock:
            self._bodies.clear()
            self._generation += 1
        self.mappings.clear()

    # -- calls -------------------------------------------------------------------------------------------------------

    def handle(self, frame: Frame, call: Call) -> bytes:
        """The body of the answer.  NnrtError with the code that is answered instead."""
        if frame.object >= FIRST_MODEL:
            if frame.method == ModelMethod.RUN and not frame.descriptors:
                return self.run(frame, call)
            table = MODEL
        else:
            table = DEVICE if frame.object else SERVICE
        handler = table.get(frame.method)
        if handler is None:
            close_all(frame.descriptors)
            raise NnrtError(C.NOT_SUPPORT, f"object {frame.object} has no method {frame.method}")
        received = self._receive(frame.descriptors)
        try:
            return handler(self, frame, ParcelReader(frame.body), received)
        except ReadError as error:
            raise as_nnrt(error, C.INVALID_PARAMETER).at("request") from None

    def _receive(self, descriptors: list[int]) -> list[Attached]:
        received: list[Attached] = []
        try:
            for fd in descriptors:
                received.append(Attached(fd, self.mappings, files=self.shared.files))
        except BaseException:
            close_all(descriptors[len(received) :])
            raise
        return received

    def resolver(self, received: Sequence[Attached]) -> marshal.Resolve:
        """What stands behind kind and number in this client's request; -2 for what is no open memory."""

        def resolve(kind: int, number: int) -> tuple[int, Any]:
            if kind == marshal.ATTACHED:
                found = self.attached.get(number)
                if found is not None:
                    return found.fd, found
            elif kind == marshal.FRAME and number < len(received):
                return received[number].fd, received[number]
            elif kind not in (marshal.FRAME, marshal.ATTACHED):
                raise ReadError(f"a descriptor is of kind 0 to 2, got {kind}")
            elif number != NO_DESCRIPTOR:
                raise ReadError(f"descriptor {number} of the frame is asked for, {len(received)} came")
            return -2, None

        return resolve

    def entry(self, frame: Frame) -> Entry:
        """The model that is called."""
        found = self.models.get(frame.object)
        if found is None:
            raise NnrtError(C.INVALID_PARAMETER, f"there is no prepared model {frame.object}")
        return found

    def device(self, frame: Frame) -> ServiceDevice:
        """The device that is called."""
        if not 1 <= frame.object <= len(self.devices):
            raise NnrtError(C.INVALID_PARAMETER, f"devices are 1 to {len(self.devices)}, got {frame.object}")
        return self.devices[frame.object - 1]

    # -- Run ---------------------------------------------------------------------------------------------------------

    def run(self, frame: Frame, call: Call) -> bytes:
        """Run: the same body again is not read again."""
        entry = self.entry(frame)
        key = (frame.object, frame.body)
        tensors = self._bodies.get(key)
        if tensors is None:
            tensors = self._tensors(frame, key)
        inputs, outputs = tensors
        if not entry.prepared._fixed:
            self._admit_shapes(entry, inputs)
        gate = entry.device._gate
        if gate.waiting >= self.limits.queue:
            raise NnrtError(C.DEVICE_BUSY, f"{gate.waiting} runs wait already")
        dims = entry.prepared.run(inputs, outputs, call=call)
        writer = ParcelWriter()
        marshal.write_dims(writer, dims)
        return writer.getvalue()

    def _tensors(self, frame: Frame, key: tuple[int, bytes]) -> tuple[list[IOTensor], list[IOTensor]]:
        generation = self._generation
        reader, resolve = ParcelReader(frame.body), self.resolver(())
        try:
            inputs, outputs = marshal.read_tensors(reader, resolve), marshal.read_tensors(reader, resolve)
        except ReadError as error:
            raise as_nnrt(error, C.INVALID_PARAMETER).at("request") from None
        size = sum(tensor.data.dataSize for tensor in inputs)
        if size > self.limits.shared_bytes:
            raise NnrtError(C.OUT_OF_MEMORY, f"inputs may hold {self.limits.shared_bytes} bytes, got {size}")
        if len(frame.body) <= _KEPT_BODY:
            with self._lock:
                if generation == self._generation:
                    self._bodies[key] = (inputs, outputs)
                    while len(self._bodies) > _KEPT_BODIES:
                        self._bodies.popitem(last=False)
        return inputs, outputs

    def _admit_shapes(self, entry: Entry, inputs: list[IOTensor]) -> None:
        """What a run of a model with open dims needs, by the dims that it is given; each set of dims is judged once."""
        shapes = tuple(tuple(tensor.dimensions) for tensor in inputs)
        if shapes in entry.shapes or len(shapes) != len(entry.prepared.inputs):
            return
        entry.prepared._check_inputs(inputs)  # what is wrong with them is told before what they would need
        need, answer = _needs(entry.compiled, shapes)
        if answer > self.limits.answer_bytes:
            raise NnrtError(C.OUT_OF_MEMORY, f"outputs may take {self.limits.answer_bytes} bytes, not {answer}")
        if need > self.limits.run_bytes:
            raise NnrtError(C.OUT_OF_MEMORY, f"a run may need {self.limits.run_bytes} bytes, this one about {need}")
        with self._lock:
            entry.shapes[shapes] = None
            while len(entry.shapes) > _KEPT_SHAPES:
                entry.shapes.popitem(last=False)

    # -- preparing ---------------------------------------------------------------------------------------------------

    def bounded(self, model: Model) -> int:
        """Bytes of a model's constants, which will be copied.  OUT_OF_MEMORY for too many."""
        size = sum(tensor.data.dataSize for tensor in model.allTensors if tensor.is_constant)
        if size > self.limits.model_bytes:
            raise NnrtError(C.OUT_OF_MEMORY, f"constants may take {self.limits.model_bytes} bytes, not {size}")
        return size

    def keep(self, size: int, make: Callable[[], tuple[PreparedModel, Compiled, bytes]], device: ServiceDevice) -> int:
        """Makes a prepared model within the client's budgets; its number."""
        self.models_budget.take()
        try:
            self.model_bytes.take(size)
            try:
                prepared, compiled, key = make()
            except BaseException:
                self.model_bytes.give(size)
                raise
        except BaseException:
            self.models_budget.give()
            raise
        number = next(self._numbers)
        self.models[number] = Entry(prepared, compiled, device, key, size)
        return number

    def prepared_answer(self, number: int) -> bytes:
        """What the client is told of a prepared model."""
        entry = self.models[number]
        writer = ParcelWriter()
        writer.uint32(number)
        marshal.write_ports(writer, entry.prepared.inputs)
        marshal.write_ports(writer, entry.prepared.outputs)
        writer.blob(entry.key)
        return writer.getvalue()

    def release_model(self, number: int) -> None:
        """Forgets a prepared model."""
        entry = self.models.pop(number, None)
        if entry is None:
            raise NnrtError(C.INVALID_PARAMETER, f"there is no prepared model {number}")
        self.models_budget.give()
        self.model_bytes.give(entry.size)
        self.forget_bodies()

    def forget_bodies(self) -> None:
        """Drops what was read from bodies: numbers in them may mean something else now."""
        with self._lock:
            self._generation += 1
            self._bodies.clear()

    # -- memory ------------------------------------------------------------------------------------------------------

    def attach(self, received: Sequence[Attached], code: C = C.INVALID_BUFFER) -> list[int]:
        """Numbers for memory; NnrtError if one of them is none."""
        for attached in received:
            if attached.problem:
                raise NnrtError(code, attached.problem)
            if attached.length > self.limits.shared_bytes:
                raise NnrtError(
                    C.OUT_OF_MEMORY,
                    f"a client may share {self.limits.shared_bytes} bytes, the descriptor has {attached.length}",
                )
        numbers = []
        for attached in received:
            number = next(self._numbers)
            self.attached[number] = attached
            numbers.append(number)
        return numbers

    def detach(self, number: int) -> None:
        """Lets memory go, with everything that is bound to it."""
        attached = self.attached.pop(number, None)
        if attached is None:
            raise NnrtError(C.INVALID_BUFFER, f"no memory of number {number} is attached")
        self.forget_bodies()
        self.mappings.forget(attached.fd)
        for entry in list(self.models.values()):
            entry.prepared.forget(attached.key)


def _needs(compiled: Compiled, shapes: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Bytes that a run with these dims needs at its height, and those of its outputs; what data decide counts as 1."""
    from onnx import ModelProto

    from ...graph.read import read
    from ...runtime.memory import estimate

    proto = ModelProto()
    proto.CopyFrom(compiled.written.model)
    named = {port.key: shape for port, shape in zip(compiled.inputs, shapes, strict=True)}
    for value in proto.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, named.get(value.name, ()), strict=False):
            dim.dim_value = size
    for value in (*proto.graph.output, *proto.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            dim.ClearField("value")
    try:
        graph = read(proto)
    except PippinError:  # dims that do not fit each other: the run will say so
        return 0, 0
    dims = [[dim if isinstance(dim, int) else 1 for dim in value.shape] for value in graph.outputs]
    answer = sum(byte_size(port.data_type, shape) for port, shape in zip(compiled.outputs, dims, strict=True))
    return estimate(graph).values, answer
