"""One node on the device: what the tests of lowerings share."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from nnrt_models import constant, one_node
from pippin.nnrt import attributes as a
from pippin.nnrt.authoring import GraphBuilder
from pippin.nnrt.device import Device
from pippin.nnrt.errors import NnrtError
from pippin.nnrt.types import ReturnCode, Tensor

Array = np.ndarray[Any, Any]
DEVICE = Device()
RNG = np.random.default_rng(7)
TYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]


def run(attributes: a.Attributes, *inputs: Any, outputs: int = 1, open_dims: bool = False, **options: Any) -> Any:
    """One node: arrays are inputs of the model, lists constants; with ``open_dims`` no dim of an input is declared."""
    g = GraphBuilder()
    refs, feeds = [], []
    for place, item in enumerate(inputs):
        if isinstance(item, np.ndarray):
            dims = [-1] * item.ndim if open_dims else item.shape
            refs.append(g.input(f"x{place}", dims, item.dtype))
            feeds.append(item)
        else:
            refs.append(g.constant(item))
    made = g.node(attributes, *refs, outputs=outputs, **options)
    model = g.finish(*(made if outputs > 1 else (made,)))
    results = list(DEVICE.prepare(model).predict(feeds).values())
    return results if outputs > 1 else results[0]


def floats(*dims: int) -> Array:
    return RNG.standard_normal(dims).astype(np.float32)


def refused(attributes: a.Attributes, *dims: Any, code: ReturnCode = ReturnCode.INVALID_MODEL, text: str = "") -> None:
    """The model of one node is refused; lists of dims are inputs, tensors are taken as they are."""
    inputs = [item if isinstance(item, Tensor) else Tensor("x", dims=list(item)) for item in dims]
    with pytest.raises(NnrtError, match=text or ".") as caught:
        DEVICE.prepare(one_node(attributes, inputs, [Tensor("y")]))
    assert caught.value.code is code


def constant_ints(*numbers: int) -> Tensor:
    return constant(np.array(numbers, np.int32))


def brute_conv(x: Array, w: Array, stride: Any, dilation: Any, begin: Any, end: Any, group: int) -> Array:
    """Straight from the formula, over output places."""
    x = np.pad(x.astype(np.float64), [(0, 0), (begin[0], end[0]), (begin[1], end[1]), (0, 0)])
    (n, height, width, _), (out, kh, kw, depth) = x.shape, w.shape
    oh = (height - (kh - 1) * dilation[0] - 1) // stride[0] + 1
    ow = (width - (kw - 1) * dilation[1] - 1) // stride[1] + 1
    y = np.zeros((n, oh, ow, out))
    for o, i, j in itertools.product(range(out), range(oh), range(ow)):
        first = o // (out // group) * depth
        patch = x[
            :,
            i * stride[0] : i * stride[0] + (kh - 1) * dilation[0] + 1 : dilation[0],
            j * stride[1] : j * stride[1] + (kw - 1) * dilation[1] + 1 : dilation[1],
            first : first + depth,
        ]
        y[:, i, j, o] = (patch * w[o]).sum(axis=(1, 2, 3))
    return y
