"""Weights as NumPy arrays: float32, float16, 1-8 bit linear and lookup table, int8.

Weights lie in a file in the order of their shape, last axis fastest. Quantised values are packed most significant bit
first. Source: WeightParams, QuantizationParams.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import CheckError
from .wire import View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FIELDS = {"float32": "floatValue", "float16": "float16Value", "raw": "rawValue", "int8": "int8RawValue"}


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a ``WeightParams`` stores its values.

    ``kind`` is "float32", "float16", "linear", "lookup", "int8", "none" (empty) or "mixed" (more than one, an error);
    ``bits`` the width of one value; ``per_channel`` whether a linear quantisation has a scale for each channel.
    """

    kind: str
    bits: int
    per_channel: bool = False

    def __str__(self) -> str:
        if self.kind == "linear":
            return f"linear {self.bits} bit{', per channel' if self.per_channel else ''}"
        return f"lookup table {self.bits} bit" if self.kind == "lookup" else self.kind


class Weights:
    """Reads ``WeightParams`` messages; ``views`` are those of the document that the messages belong to."""

    def __init__(self, views: Sequence[View] = ()) -> None:
        self.views = views

    def stored(self, params: Any) -> dict[str, int]:
        """Bytes under each encoding that is present: {"float32": 400}."""
        sizes: dict[str, int] = {}
        for index in params.pippinView:
            view = self.views[index]
            sizes[view.encodes] = sizes.get(view.encodes, 0) + len(view.data)
        if params.DESCRIPTOR.name == "WeightParams":
            for encodes, name in _FIELDS.items():
                size = len(getattr(params, name)) * (4 if encodes == "float32" else 1)
                if size:
                    sizes[encodes] = sizes.get(encodes, 0) + size
        elif len(params.meanImage):
            sizes["float32"] = sizes.get("float32", 0) + 4 * len(params.meanImage)
        return sizes

    def encoding(self, params: Any) -> Encoding:
        """How ``params`` stores its values."""
        sizes = self.stored(params)
        if not sizes:
            return Encoding("none", 0)
        if len(sizes) > 1:
            return Encoding("mixed", 0)
        (encodes,) = sizes
        if encodes == "float32":
            return Encoding("float32", 32)
        if encodes == "float16":
            return Encoding("float16", 16)
        if encodes == "int8":
            return Encoding("int8", 8)
        bits = int(params.quantization.numberOfBits)
        if params.quantization.WhichOneof("QuantizationType") == "lookupTableQuantization":
            return Encoding("lookup", bits)
        return Encoding("linear", bits, len(params.quantization.linearQuantization.scale) > 1)

    def count(self, params: Any) -> int:
        """How many values ``params`` holds; for packed bits the largest number that fits."""
        sizes = self.stored(params)
        encoding = self.encoding(params)
        size = sum(sizes.values())
        if encoding.kind in ("none", "mixed") or not encoding.bits:
            return 0
        return size * 8 // encoding.bits

    def holds(self, params: Any, number: int) -> bool:
        """Whether ``params`` has as many bytes as ``number`` values take; packed bits fill the last byte up."""
        bits = self.encoding(params).bits
        return bool(bits) and sum(self.stored(params).values()) == -(-number * bits // 8)

    def raw(self, params: Any, encodes: str) -> memoryview:
        """The bytes stored under ``encodes``, in one piece."""
        chunks: list[memoryview] = [
            view.data for view in (self.views[i] for i in params.pippinView) if view.encodes == encodes
        ]
        if encodes in ("raw", "int8", "float16"):
            chunks = chunks[-1:]  # the last one of a field that is not repeated counts
        name = "meanImage" if params.DESCRIPTOR.name != "WeightParams" else _FIELDS[encodes]
        direct = getattr(params, name)
        if len(direct):
            import numpy as np

            chunks.append(memoryview(np.asarray(direct, "<f4").tobytes() if encodes == "float32" else bytes(direct)))
        if len(chunks) == 1:
            return chunks[0]
        return memoryview(b"".join(chunks))

    def array(
        self, params: Any, shape: Sequence[int], *, axis: int | tuple[int, ...] = 0, name: str = "weights"
    ) -> NDArray[np.float32]:
        """The values as a float32 array of ``shape``, expanded if they are quantised.

        ``axis`` is the axis of the output channels, along which a per-channel scale runs; several where the channels
        lie on more than one, outermost first. Float32 values are a view
        of the file's own bytes (maybe not aligned, never to be written to). Raises ``CheckError`` if the number of
        values, the scale or the table does not fit; ``name`` is the field to name then.
        """
        import numpy as np

        shape = tuple(int(dim) for dim in shape)
        wanted = math.prod(shape)
        encoding = self.encoding(params)
        if encoding.kind == "none" and wanted == 0:
            return np.zeros(shape, np.float32)
        if encoding.kind == "none":
            raise CheckError(f"{name} must hold {wanted:,} values {list(shape)}, got none")
        if encoding.kind == "mixed":
            raise CheckError(f"{name} must use one encoding, got {', '.join(sorted(self.stored(params)))}")
        if encoding.kind == "linear" or encoding.kind == "lookup":
            return self._expand(params, encoding, shape, axis, name)
        dtype = {"float32": "<f4", "float16": "<f2", "int8": "i1"}[encoding.kind]
        data = self.raw(params, encoding.kind)
        if len(data) != wanted * np.dtype(dtype).itemsize:
            have = len(data) / np.dtype(dtype).itemsize
            raise CheckError(f"{name} must hold {wanted:,} values {list(shape)}, got {have:,.10g}")
        values = np.frombuffer(data, dtype).reshape(shape)
        if encoding.kind == "int8":
            scale = list(params.quantization.linearQuantization.scale) or [1.0]
            return values.astype(np.float32) * np.float32(scale[0])
        return values if encoding.kind == "float32" else values.astype(np.float32)

    def flat(self, params: Any) -> NDArray[np.float32]:
        """All values of float32 or float16 ``params`` as they lie, whatever their number."""
        return self.array(params, (self.count(params),))

    def levels(self, params: Any, count: int, name: str = "weights") -> NDArray[np.uint8]:
        """The packed unsigned integers of quantised ``params``, one byte each; surplus bytes are not looked at."""
        import numpy as np

        bits = int(params.quantization.numberOfBits)
        if not 1 <= bits <= 8:
            raise CheckError(f"{name}: numberOfBits must lie between 1 and 8, got {bits}")
        data = np.frombuffer(self.raw(params, "raw"), np.uint8)
        needed = (count * bits + 7) // 8
        if len(data) < needed:
            raise CheckError(
                f"{name} must hold {count:,} values of {bits} bits ({needed:,} bytes), got {len(data):,} bytes"
            )
        return unpack_bits(data[:needed], bits, count)

    def int8(self, params: Any, shape: Sequence[int], *, name: str = "weights") -> tuple[NDArray[np.int8], float]:
        """The integers of ``int8RawValue`` and their scale (layers with ``int8DynamicQuantize``)."""
        import numpy as np

        data = self.raw(params, "int8")
        if len(data) != math.prod(shape):
            raise CheckError(f"{name} must hold {math.prod(shape):,} int8RawValue bytes, got {len(data):,}")
        bits = int(params.quantization.numberOfBits)
        if bits != 8:
            raise CheckError(f"{name}: numberOfBits must be 8 for int8RawValue, got {bits}")
        linear = params.quantization.linearQuantization
        if len(linear.scale) != 1 or len(linear.bias):
            raise CheckError(f"{name}: int8RawValue needs one scale and no bias, got {len(linear.scale)} scales")
        return np.frombuffer(data, np.int8).reshape(tuple(shape)), float(linear.scale[0])

    def _expand(
        self, params: Any, encoding: Encoding, shape: tuple[int, ...], axis: int | tuple[int, ...], name: str
    ) -> NDArray[np.float32]:
        import numpy as np

        levels = self.levels(params, math.prod(shape), name)
        if encoding.kind == "lookup":
            table = np.asarray(params.quantization.lookupTableQuantization.floatValue, np.float32)
            if len(table) != 1 << encoding.bits:
                raise CheckError(f"{name}: the lookup table must hold {1 << encoding.bits} values, got {len(table)}")
            return table[levels].reshape(shape)
        linear = params.quantization.linearQuantization
        scale, bias = np.asarray(linear.scale, np.float32), np.asarray(linear.bias, np.float32)
        axes = ((axis,) if isinstance(axis, int) else axis) if shape else ()
        channels = math.prod(shape[a] for a in axes)
        for field, values in (("scale", scale), ("bias", bias)):
            if len(values) not in ((0, 1, channels) if field == "bias" else (1, channels)):
                raise CheckError(f"{name}: {field} must hold 1 or {channels} values, got {len(values)}")
        along = [1] * len(shape)
        for a in axes:
            along[a] = shape[a]
        result = levels.reshape(shape).astype(np.float32)
        result *= scale.reshape(along) if len(scale) > 1 else scale[0]
        if len(bias):
            result += bias.reshape(along) if len(bias) > 1 else bias[0]
        return result


def unpack_bits(data: NDArray[np.uint8], bits: int, count: int) -> NDArray[np.uint8]:
    """``count`` unsigned integers of ``bits`` bits each from packed ``data``, most significant bit first."""
    import numpy as np

    if bits == 8:
        return data[:count]
    if bits in (1, 2, 4):
        shifts = np.arange(8 - bits, -1, -bits, dtype=np.uint8)
        return ((data[:, None] >> shifts) & np.uint8((1 << bits) - 1)).reshape(-1)[:count]
    # eight values lie in `bits` whole bytes: widen each group to 64 bits and shift
    groups = -(-count // 8)
    padded = np.zeros(groups * bits, np.uint8)
    padded[: len(data)] = data
    wide = np.zeros((groups, 8), np.uint8)
    wide[:, 8 - bits :] = padded.reshape(groups, bits)
    shifts = np.arange(7 * bits, -1, -bits, dtype=np.uint64)
    values = (wide.view(">u8").astype(np.uint64) >> shifts) & np.uint64((1 << bits) - 1)
    return values.astype(np.uint8).reshape(-1)[:count]


def pack_bits(values: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """The inverse of ``unpack_bits``; the last byte is filled up with zeros."""
    import numpy as np

    if bits == 8:
        return values.astype(np.uint8).reshape(-1)
    unpacked = np.unpackbits(values.reshape(-1, 1).astype(np.uint8), axis=1)[:, 8 - bits :]
    return np.packbits(unpacked.reshape(-1))
