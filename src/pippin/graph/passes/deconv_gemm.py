"""A transposed convolution whose stride is its kernel is a matrix product: no two of its results overlap.

y[n, o, h·r + i, w·s + j] = Σ x[n,c,h,w] · W[c,o,i,j] + b[o]: x as rows [N·H·W, C] times [C, r·s·O], and the rows are
[N·H, W, r, s·O], of which W and r change places. The engine does its transpositions together with the change of layout
that a convolution before or behind needs anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import Node, Value
from . import Done, Refused, Rule

if TYPE_CHECKING:
    from .view import View


def _apply(view: View, node: Node) -> Done | Refused | None:
    x, w = node.inputs[:2]
    if x is None or w is None or w.rank != 4:
        return None
    reason = _reason(node, x, w)
    if reason:
        return Refused(reason)
    _write(view, node, x, w)
    return Done("the stride is the kernel, so no two products meet")


def _reason(node: Node, x: Value, w: Value) -> str:
    attributes = node.attributes
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    if w.data is None or (bias is not None and bias.data is None):
        return "the weights are known at run time only"
    kernel = list(w.data.shape[2:])
    if attributes.get("strides", [1, 1]) != kernel:
        return "the stride is not the kernel"
    if attributes.get("group", 1) != 1 or any(d != 1 for d in attributes.get("dilations") or ()):
        return "it has groups or dilations"
    if any((*(attributes.get("pads") or ()), *(attributes.get("output_padding") or ()))):
        return "something is cropped off or added"
    if attributes.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID") or attributes.get("output_shape"):
        return "its padding depends on the size"
    if not x.static or 0 in x.shape:
        return "the sizes are known at run time only"
    return ""


def _write(view: View, node: Node, x: Value, w: Value) -> None:
    import numpy as np

    assert w.data is not None
    n, c, height, width = (int(dim) for dim in x.shape)
    _, out, r, s = w.data.shape
    y = node.outputs[0]
    dtype = x.dtype

    def reshape(value: Value, *sizes: int) -> Value:
        shape = view.constant(np.array(sizes, np.int64), f"{node.name}/shape")
        return view.emit(node, "Reshape", [value, shape], [(dtype, sizes)])

    def transpose(value: Value, *perm: int) -> Value:
        sizes = [value.shape[axis] for axis in perm]
        return view.emit(node, "Transpose", [value], [(dtype, sizes)], perm=list(perm))

    matrix = view.constant(np.ascontiguousarray(w.data.transpose(0, 2, 3, 1)).reshape(c, r * s * out), w.name)
    operands: list[Value | None] = [reshape(transpose(x, 0, 2, 3, 1), n * height * width, c), matrix]
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    if bias is not None and bias.data is not None:
        operands.append(view.constant(np.tile(bias.data, r * s), bias.name))
    rows = view.emit(node, "Gemm", operands, [(dtype, (n * height * width, r * s * out))])
    swapped = transpose(reshape(rows, n * height, width, r, s * out), 0, 2, 1, 3)
    spread = reshape(swapped, n, height * r, width * s, out)
    assert y.shape == (n, out, height * r, width * s)
    view.become(node, "Transpose", [spread], {"perm": [0, 3, 1, 2]})


RULE = Rule("deconv_gemm", ("ConvTranspose",), _apply, "run")
