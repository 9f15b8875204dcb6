"""Rows of the passes: graphs that a rule rewrites, and near misses that it must leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cases.pass_graphs import (
    batchnorm,
    channels,
    conv,
    deconv,
    dense,
    flag,
    joined,
    late,
    layer_norm,
    mvn,
    other_squares,
    parts,
    pool_after,
    random,
    shaped,
    turned,
    two,
    upper,
)
from pippin.graph import passes
from pippin.graph.builder import Builder
from pippin.graph.ir import Graph, Value


@dataclass(frozen=True)
class Row:
    """A graph, the rule it is about, and what is to come of it: operators that are left, or why it is left alone.

    ``build(g, x)`` returns the outputs of the graph. ``symbolic``: sizes of the input that are known at run time only.
    """

    rule: str
    note: str
    build: Callable[[Builder, Value], Any]
    left: str = ""
    reason: str = ""
    shape: tuple[int, ...] = (2, 4, 6, 6)
    dtype: str = "float32"
    symbolic: tuple[int, ...] = ()
    level: passes.Level = "run"

    @property
    def id(self) -> str:
        return f"{self.rule}: {self.note}"

    def graph(self) -> Graph:
        g = Builder()
        dims = [f"d{axis}" if axis in self.symbolic else size for axis, size in enumerate(self.shape)]
        results = self.build(g, g.input("x", self.dtype, dims))
        for index, value in enumerate(results if isinstance(results, tuple) else (results,)):
            g.output(value, f"y{index}")
        return g.graph

    def feeds(self) -> dict[str, np.ndarray]:
        return {"x": (random(*self.shape) * 3).astype(self.dtype)}


ROWS = [
    # identities
    Row("identities", "Identity", lambda g, x: g.Relu(g.append("Identity", [x], {}, [(x.dtype, x.shape)])), "Relu"),
    Row("identities", "times 1", lambda g, x: g.Relu(g.Mul(x, 1.0)), "Relu"),
    Row("identities", "1 times, by a tensor of one", lambda g, x: g.Relu(g.Mul(np.ones((1, 1), "f"), x)), "Relu"),
    Row("identities", "plus 0, minus 0", lambda g, x: g.Relu(g.Sub(g.Add(x, 0.0), 0.0)), "Relu"),
    Row("identities", "0 minus x is not x", lambda g, x: g.Exp(g.Sub(0.0, x)), "Sub Exp"),
    Row("identities", "a 1 of higher rank", lambda g, x: g.Relu(g.Mul(x, np.ones((1,) * 5, "f"))), "Mul Relu"),
    Row("identities", "ones that broadcast", lambda g, x: g.Relu(g.Mul(x, np.ones((3, 1, 1, 1, 1), "f"))), "Mul Relu"),
    Row("identities", "Pow 1, Div 1", lambda g, x: g.Relu(g.Div(g.Pow(g.Abs(x), 1.0), 1.0)), "Abs Relu"),
    Row("identities", "Sum of one", lambda g, x: g.Relu(g.Sum(x)), "Relu"),
    Row("identities", "no padding", lambda g, x: g.Relu(g.Pad(x, [0] * 8)), "Relu"),
    Row("identities", "the whole slice", lambda g, x: g.Relu(g.Slice(x, [0], [99], [1])), "Relu"),
    Row("identities", "a slice backwards", lambda g, x: g.Relu(g.Slice(x, [-1], [-99], [1], [-1])), "Slice Relu"),
    Row("identities", "transposed in order", lambda g, x: g.Relu(g.Transpose(x, perm=[0, 1, 2, 3])), "Relu"),
    Row("identities", "an output of its own", lambda g, x: (x, g.Relu(x)), "Identity Relu"),
    Row(
        "identities", "two outputs, one value", lambda g, x: two(g.Relu(x), lambda v: g.Mul(v, 1.0)), reason="an output"
    ),
    Row(
        "identities",
        "an output of the graph that is an input",
        lambda g, x: g.Mul(x, 1.0),
        reason="an output of the graph",
    ),
    # constants
    Row("constants", "operators on constants", lambda g, x: g.Add(x, late(g, "Sqrt", np.float32([4.0]))), "Add"),
    Row("constants", "compared", lambda g, x: g.Where(late(g, "Less", 1.0, 2.0), x, 0.0), "Where"),
    Row("constants", "a large one transposed", lambda g, x: g.MatMul(x, late(g, "Transpose", random(5, 6))), "MatMul"),
    Row("constants", "split", lambda g, x: g.Add(x, g.Mul(*parts(g))), "Add"),
    Row(
        "constants", "too large", lambda g, x: g.Add(x, g.ReduceSum(late(g, "Abs", random(5000)))), "Abs ReduceSum Add"
    ),
    Row("constants", "an output", lambda g, x: (g.Relu(x), late(g, "Sqrt", np.float32([4.0]))), reason="an output"),
    # branches
    Row("branches", "then", lambda g, x: g.Add(*flag(g, x, g.constant(True))), "Mul Add Add"),
    Row("branches", "else, as outputs", lambda g, x: flag(g, x, g.constant(False)), "Mul Add"),
    Row("branches", "computed", lambda g, x: flag(g, x, g.Less(g.ReduceSum(x, keepdims=0), 1.0)), "ReduceSum Less If"),
    # casts
    Row("casts", "there and back", lambda g, x: g.Relu(g.cast(g.cast(x, "float64"), "float32")), "Relu"),
    Row("casts", "on and on", lambda g, x: g.cast(g.cast(x, "int32"), "int64"), "Cast", dtype="int8"),
    Row("casts", "by something smaller", lambda g, x: g.cast(g.cast(x, "int64"), "float32"), reason="does not hold"),
    Row(
        "casts",
        "int64 by float64",
        lambda g, x: g.Neg(g.cast(g.cast(x, "float64"), "int64")),
        reason="does not hold",
        dtype="int64",
    ),
    # transposes
    Row("transposes", "there and back", lambda g, x: g.Relu(turned(g, turned(g, x), [0, 3, 1, 2])), "Relu"),
    Row("transposes", "two are one", lambda g, x: g.Relu(turned(g, turned(g, x))), "Transpose Relu"),
    Row("transposes", "in order", lambda g, x: g.Relu(turned(g, turned(g, x), [1, 0, 2, 3])), "Transpose Relu"),
    Row("transposes", "an output between", lambda g, x: two(turned(g, x), lambda v: turned(g, v)), reason="used by"),
    Row("transposes", "nothing, as output", lambda g, x: turned(g, turned(g, x), [0, 3, 1, 2]), reason="an output"),
    # reshapes
    Row("reshapes", "there and back", lambda g, x: g.Relu(shaped(g, shaped(g, x, 2, 24, 6), 2, 4, 6, 6)), "Relu"),
    Row("reshapes", "two are one", lambda g, x: shaped(g, g.Flatten(x), 6, 4, 12), "Reshape"),
    Row("reshapes", "Squeeze and Unsqueeze", lambda g, x: g.Relu(g.Squeeze(g.Unsqueeze(x, [2]), [2])), "Relu"),
    Row("reshapes", "one unknown", lambda g, x: g.Flatten(g.Unsqueeze(x, [1])), "Reshape", symbolic=(0,)),
    Row(
        "reshapes",
        "two unknown",
        lambda g, x: g.Unsqueeze(g.Unsqueeze(x, [1]), [1]),
        reason="at run time",
        symbolic=(0, 2),
    ),
    Row("reshapes", "nothing, as output", lambda g, x: g.Squeeze(g.Unsqueeze(x, [0]), [0]), reason="an output"),
    # sinking
    Row("sinking", "a function between", lambda g, x: g.Flatten(g.Tanh(shaped(g, x, 2, 144, 1, 1))), "Tanh Reshape"),
    Row("sinking", "a number between", lambda g, x: g.Flatten(g.Sub(2.0, shaped(g, x, 2, 144, 1))), "Sub Reshape"),
    Row("sinking", "the same shape", lambda g, x: shaped(g, g.Relu(g.Flatten(x)), 2, 4, 6, 6), "Relu"),
    Row(
        "sinking",
        "softmax of what was unfolded",
        lambda g, x: g.Relu(g.Flatten(g.Softmax(shaped(g, x, 2, 144, 1, 1), axis=1))),
        "Relu Softmax",
        shape=(2, 144),
    ),
    Row(
        "sinking",
        "softmax along another axis",
        lambda g, x: g.Flatten(g.Softmax(shaped(g, x, 2, 4, 36, 1), axis=1)),
        reason="sees the axis",
    ),
    # unit axes
    Row(
        "unit_axes",
        "ones change places",
        lambda g, x: g.Relu(g.Transpose(x, perm=[0, 2, 1, 3])),
        "Relu Reshape",
        shape=(3, 1, 5, 2),
    ),
    Row("unit_axes", "nothing changes", lambda g, x: g.Relu(g.Transpose(x, perm=[1, 0, 2])), "Relu", shape=(1, 1, 5)),
    Row(
        "unit_axes",
        "an open size",
        lambda g, x: g.Relu(g.Transpose(x, perm=[1, 0, 2])),
        "Relu Reshape",
        shape=(4, 1, 5),
        symbolic=(0,),
    ),
    Row(
        "unit_axes",
        "two open sizes",
        lambda g, x: g.Relu(g.Transpose(x, perm=[1, 0, 2])),
        reason="known at run time only",
        shape=(4, 1, 5),
        symbolic=(0, 2),
    ),
    Row("unit_axes", "others change places", lambda g, x: g.Transpose(x, perm=[0, 2, 1]), "Transpose", shape=(1, 4, 5)),
    Row(
        "sinking",
        "factors a channel see the shape",
        lambda g, x: g.Flatten(g.Mul(shaped(g, x, 2, 144, 1, 1), channels(144))),
        "Reshape Mul Flatten",
    ),
    Row(
        "sinking",
        "used twice",
        lambda g, x: two(shaped(g, x, 2, 144, 1, 1), lambda v: g.Flatten(g.Tanh(v))),
        reason="used by others",
    ),
    # clips
    Row("clips", "Relu6 by thresholds", lambda g, x: upper(g, g.Relu(x)), "Clip"),
    Row("clips", "once more rectified", lambda g, x: g.Relu(upper(g, g.Relu(x))), "Clip"),
    Row("clips", "lower limits alone", lambda g, x: g.Max(g.Relu(x), -2.0), "Relu"),
    Row("clips", "limits that do not meet", lambda g, x: g.Max(g.Min(x, -1.0), 2.0), "Clip"),
    Row("clips", "crossed bounds of Clip", lambda g, x: g.Relu(g.Clip(x, 3.0, 1.0)), "Clip"),
    Row(
        "clips",
        "divided and subtracted",
        lambda g, x: g.Sub(1.0, g.Max(g.Div(g.Add(x, 1.0), -2.0), 0.5)),
        "Clip Mul Add",
    ),
    Row("clips", "scaled by 0", lambda g, x: g.Max(g.Mul(x, 0.0), 1.0), reason="0 or not finite"),
    Row("clips", "no shorter", lambda g, x: g.Max(g.Mul(x, 2.0), 1.0), reason="not be shorter"),
    Row("clips", "limits a channel", lambda g, x: g.Relu(g.Max(x, channels(4))), "Max Relu"),
    Row("clips", "an output between", lambda g, x: two(g.Relu(x), lambda v: upper(g, v)), "Relu Clip"),
    Row("clips", "whole numbers", lambda g, x: g.Max(g.Max(x, 1), 2), "Max Max", dtype="int64"),
    # absorb
    Row("absorb", "batchnorm", lambda g, x: batchnorm(g, conv(g, x)), "Conv"),
    Row("absorb", "batchnorm, no bias, groups", lambda g, x: batchnorm(g, conv(g, x, bias=False, group=2)), "Conv"),
    Row(
        "absorb",
        "scale, bias, batchnorm",
        lambda g, x: batchnorm(g, g.Add(g.Mul(conv(g, x), channels(8)), 2.0)),
        "Conv",
    ),
    Row("absorb", "subtracted from", lambda g, x: g.Div(g.Sub(channels(8), conv(g, x)), channels(8)), "Conv"),
    Row("absorb", "transposed", lambda g, x: batchnorm(g, deconv(g, x, k=3, strides=[2, 2])), "ConvTranspose"),
    Row(
        "absorb",
        "transposed in groups",
        lambda g, x: g.Add(g.Mul(deconv(g, x, k=3, strides=[2, 2], group=2), channels(8)), channels(8, 3)),
        "ConvTranspose",
    ),
    Row("absorb", "one dimension", lambda g, x: batchnorm(g, conv(g, x)), "Conv", shape=(2, 4, 9)),
    Row("absorb", "unknown sizes", lambda g, x: batchnorm(g, conv(g, x)), "Conv", symbolic=(0, 2, 3)),
    Row(
        "absorb", "inner product", lambda g, x: g.Add(g.Mul(dense(g, x), random(5)), random(1, 5)), "Gemm", shape=(3, 4)
    ),
    Row(
        "absorb",
        "inner product with transB, beta, a number as bias",
        lambda g, x: g.Mul(g.Gemm(x, random(5, 4), np.float32(2), transB=1, alpha=0.5, beta=3.0), random(5)),
        "Gemm",
        shape=(3, 4),
    ),
    Row("absorb", "matrix product", lambda g, x: g.Mul(g.MatMul(x, random(6, 5)), random(5)), "MatMul"),
    Row("absorb", "a bias of a matrix product", lambda g, x: g.Add(g.MatMul(x, random(6, 5)), random(5)), "MatMul Add"),
    Row("absorb", "two batchnorms", lambda g, x: batchnorm(g, batchnorm(g, x)), "BatchNormalization"),
    Row(
        "absorb",
        "instance normalisation",
        lambda g, x: g.Add(g.Mul(g.InstanceNormalization(x, random(4), random(4)), channels(4)), channels(4)),
        "InstanceNormalization",
    ),
    Row("absorb", "along another axis", lambda g, x: g.Mul(conv(g, x), random(4, 1)), "Conv Mul"),
    Row("absorb", "a factor an element", lambda g, x: g.Mul(conv(g, x), random(1, 8, 4, 4)), "Conv Mul"),
    Row("absorb", "a larger result", lambda g, x: g.Mul(conv(g, x), random(3, 1, 1, 1, 1)), "Conv Mul"),
    Row("absorb", "a higher rank", lambda g, x: g.Mul(conv(g, x), np.full((1,) * 5, 2, "f")), "Conv Mul"),
    Row("absorb", "a channel that broadcasts", lambda g, x: g.Mul(conv(g, x, out=1), channels(8)), "Conv Mul"),
    Row("absorb", "one over", lambda g, x: g.Div(1.0, g.Conv(g.Abs(x), np.abs(random(8, 4, 3, 3)))), "Abs Conv Div"),
    Row(
        "absorb", "an output between", lambda g, x: two(conv(g, x), lambda v: batchnorm(g, v)), reason="used by others"
    ),
    Row(
        "absorb", "used twice", lambda g, x: g.Add(*two(conv(g, x), lambda v: batchnorm(g, v))), reason="used by others"
    ),
    Row("absorb", "no variance", lambda g, x: batchnorm(g, conv(g, x), -1.0), reason="not finite"),
    Row("absorb", "beyond float32", lambda g, x: g.Mul(g.Mul(conv(g, x), 3e38), 1e-38), reason="not finite"),
    Row(
        "absorb",
        "computed weights",
        lambda g, x: g.Mul(g.Conv(x, g.Slice(x, [0], [3], [2])), 2.0),
        reason="at run time",
    ),
    Row(
        "absorb",
        "a bias an element",
        lambda g, x: g.Mul(g.Gemm(x, random(4, 5), random(3, 5)), 2.0),
        reason="another axis",
        shape=(3, 4),
    ),
    # layer_norm
    Row("layer_norm", "last axis", lambda g, x: layer_norm(g, x, [-1]), "LayerNormalization", shape=(1, 12, 16)),
    Row(
        "layer_norm",
        "as coremltools writes it",
        lambda g, x: g.Relu(shaped(g, layer_norm(g, shaped(g, x, 1, 12, 1, 16), [-2, -1]), 1, 12, 16)),
        "LayerNormalization Relu",
        shape=(1, 12, 16),
    ),
    Row(
        "layer_norm",
        "without summands, then a number",
        lambda g, x: g.Mul(g.Mul(mvn(g, x, [-1]), random(16)), 3.0),
        "LayerNormalization",
        shape=(1, 12, 16),
    ),
    Row(
        "layer_norm",
        "unknown rows",
        lambda g, x: layer_norm(g, x, [-1]),
        "LayerNormalization",
        (),
        (1, 12, 16),
        symbolic=(1,),
    ),
    Row("layer_norm", "no factors", lambda g, x: g.Relu(mvn(g, x, [-1])), reason="exact at large means"),
    Row("layer_norm", "factors a row", lambda g, x: g.Mul(mvn(g, x, [-1]), random(6, 1)), reason="along the last axis"),
    Row(
        "layer_norm",
        "over a plane",
        lambda g, x: layer_norm(g, x, [-2, -1]),
        "ReduceMean Sub Mul ReduceMean Add Sqrt Div Mul Add",
    ),
    Row(
        "layer_norm",
        "over rows",
        lambda g, x: layer_norm(g, x, [-2]),
        "ReduceMean Sub Mul ReduceMean Add Sqrt Div Mul Add",
    ),
    Row(
        "layer_norm",
        "the squares of something else",
        lambda g, x: g.Mul(other_squares(g, x, g.Mul), random(6)),
        "ReduceMean Sub Mul ReduceMean Add Sqrt Div Mul",
    ),
    Row(
        "layer_norm",
        "another power",
        lambda g, x: g.Mul(other_squares(g, x, lambda x, c: g.Pow(c, 4.0)), random(6)),
        "ReduceMean Sub Pow ReduceMean Add Sqrt Div Mul",
    ),
    Row(
        "layer_norm",
        "the square as a power",
        lambda g, x: g.Mul(other_squares(g, x, lambda x, c: g.Pow(c, 2.0)), random(6)),
        "LayerNormalization",
    ),
    Row(
        "layer_norm",
        "rows that are cut before",
        lambda g, x: layer_norm(g, shaped(g, x, 1, 24, 8), [-1]),
        "Reshape LayerNormalization",
        shape=(1, 12, 16),
    ),
    # pads
    Row("pads", "convolution", lambda g, x: conv(g, g.Pad(x, [0, 0, 1, 0, 0, 0, 2, 3])), "Conv"),
    Row(
        "pads", "on top of its own", lambda g, x: conv(g, g.Pad(x, [0, 0, 1, 0, 0, 0, 2, 3]), pads=[1, 2, 0, 1]), "Conv"
    ),
    Row("pads", "unknown sizes", lambda g, x: conv(g, g.Pad(x, [0, 0, 1, 1, 0, 0, 1, 1])), "Conv", symbolic=(2, 3)),
    Row("pads", "mean", lambda g, x: pool_after(g, x, "AveragePool", 0), "AveragePool"),
    Row("pads", "maximum of the rectified", lambda g, x: pool_after(g, g.Relu(x), "MaxPool", 0), "Relu MaxPool"),
    Row("pads", "maximum over nothing", lambda g, x: pool_after(g, x, "MaxPool", -np.inf), "MaxPool"),
    Row("pads", "maximum sees zeros", lambda g, x: pool_after(g, x, "MaxPool", 0), reason="might see"),
    Row("pads", "ones", lambda g, x: conv(g, g.Pad(x, [0, 0, 1, 1, 0, 0, 1, 1], np.float32(1))), reason="not of zeros"),
    Row("pads", "mean of ones", lambda g, x: pool_after(g, x, "AveragePool", 1), reason="not of zeros"),
    Row("pads", "as large as the kernel", lambda g, x: pool_after(g, x, "AveragePool", 0, pad=2), reason="as large as"),
    Row("pads", "ceil_mode", lambda g, x: pool_after(g, x, "AveragePool", 0, ceil_mode=1), reason="ceil_mode"),
    Row(
        "pads",
        "a mean that leaves its own out",
        lambda g, x: g.AveragePool(
            g.Pad(x, [0, 0, 1, 1, 0, 0, 1, 1]), kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=0
        ),
        reason="not counted",
    ),
    Row("pads", "channels", lambda g, x: conv(g, g.Pad(x, [0, 1, 0, 0, 0, 0, 0, 0])), reason="along channels"),
    Row("pads", "cut off", lambda g, x: conv(g, g.Pad(x, [0, 0, -1, 0, 0, 0, 0, 0])), reason="cuts elements off"),
    Row(
        "pads", "reflected", lambda g, x: conv(g, g.Pad(x, [0, 0, 1, 1, 0, 0, 1, 1], mode="reflect")), reason="repeats"
    ),
    Row(
        "pads",
        "used twice",
        lambda g, x: two(g.Pad(x, [0, 0, 1, 1, 0, 0, 1, 1]), lambda v: conv(g, v)),
        reason="used by",
    ),
    Row(
        "pads",
        "same",
        lambda g, x: conv(g, g.Pad(x, [0, 0, 1, 1, 0, 0, 1, 1]), auto_pad="SAME_UPPER", strides=[2, 2]),
        reason="depends on the padded size",
    ),
    # precede
    Row("precede", "a picture's scale", lambda g, x: conv(g, g.Mul(x, 1 / 255), pads=[1, 1, 1, 1]), "Conv"),
    Row("precede", "and shift", lambda g, x: conv(g, g.Add(g.Mul(x, 2.0), channels(4))), "Conv"),
    Row("precede", "groups", lambda g, x: conv(g, batchnorm(g, x), group=2, bias=False), "Conv"),
    Row("precede", "depthwise", lambda g, x: conv(g, batchnorm(g, x), group=4), "Conv"),
    Row("precede", "a shift and padding", lambda g, x: conv(g, g.Add(x, 1.0), pads=[1, 1, 1, 1]), reason="shifted too"),
    Row(
        "precede", "a shift and same", lambda g, x: conv(g, g.Add(x, 1.0), auto_pad="SAME_UPPER"), reason="shifted too"
    ),
    Row("precede", "along a row", lambda g, x: conv(g, g.Mul(x, random(6))), "Mul Conv"),
    Row("precede", "used twice", lambda g, x: two(g.Mul(x, 2.0), lambda v: conv(g, v)), reason="used by others"),
    Row("precede", "left in graphs for people", lambda g, x: conv(g, g.Mul(x, 2.0)), "Mul Conv", level="export"),
    Row("precede", "not finite", lambda g, x: conv(g, g.Mul(x, np.inf)), reason="not finite"),
    # deconv_gemm
    Row("deconv_gemm", "2 x 2", deconv, "Transpose Reshape Gemm Reshape Transpose Reshape Transpose"),
    Row(
        "deconv_gemm",
        "3 x 2, no bias",
        lambda g, x: g.ConvTranspose(x, random(4, 5, 3, 2), strides=[3, 2]),
        "Transpose Reshape Gemm Reshape Transpose Reshape Transpose",
    ),
    Row("deconv_gemm", "an overlap", lambda g, x: deconv(g, x, k=3, strides=[2, 2]), reason="not the kernel"),
    Row("deconv_gemm", "groups", lambda g, x: deconv(g, x, group=2), reason="groups"),
    Row("deconv_gemm", "a crop", lambda g, x: deconv(g, x, pads=[0, 1, 0, 0]), reason="cropped off or added"),
    Row("deconv_gemm", "more", lambda g, x: deconv(g, x, output_padding=[1, 0]), reason="cropped off or added"),
    Row("deconv_gemm", "unknown sizes", deconv, reason="at run time", symbolic=(0,)),
    Row("deconv_gemm", "left in graphs for people", deconv, "ConvTranspose", level="export"),
    # concat_split
    Row(
        "concat_split",
        "a transposed one and another",
        joined,
        "Resize Conv Relu Transpose Reshape Gemm Reshape Transpose Reshape Transpose Conv Conv Add",
    ),
    Row(
        "concat_split",
        "half a block of channels",
        lambda g, x: joined(g, x, plain=False),
        "Resize Conv Relu Conv Conv Conv Add",
    ),
    Row("concat_split", "whole blocks", lambda g, x: joined(g, x, plain=False, out=16), reason="same layout"),
    Row("concat_split", "groups", lambda g, x: joined(g, x, group=2), reason="has groups"),
    Row("concat_split", "three", lambda g, x: joined(g, x, more=1), reason="3 inputs"),
    Row("concat_split", "odd channels", lambda g, x: joined(g, x, out=5), reason="no multiples of 8"),
]
