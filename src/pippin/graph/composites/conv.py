"""Convolution and its transpose in any number of spatial dims, with the crops that ONNX has no attribute for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import CheckError
from ..builder import Builder
from ..ir import Value
from .pad import pad
from .sizes import at_least, minus, same_padding


@dataclass(frozen=True)
class Padding:
    """Spatial padding: explicit amounts, or «same» with the odd element at the end or at the start.

    ``begin`` and ``end`` hold one amount a spatial dim; ``same`` is "", "upper" (odd element at the end) or "lower".
    """

    begin: tuple[int, ...] = ()
    end: tuple[int, ...] = ()
    same: str = ""

    def attributes(self, sizes: Sequence[Any], kernel: Sequence[int], stride: Sequence[int]) -> dict[str, Any]:
        """ONNX attributes for a window that slides over spatial ``sizes``; ``kernel`` is the dilated one."""
        if not self.same:
            return {"pads": [*self.begin, *self.end]} if any(self.begin + self.end) else {}
        if all(isinstance(size, int) for size in sizes):
            begin, end = self.amounts(sizes, kernel, stride)
            return {"pads": [*begin, *end]} if any(begin + end) else {}
        return {"auto_pad": "SAME_UPPER" if self.same == "upper" else "SAME_LOWER"}

    def amounts(
        self, sizes: Sequence[int], kernel: Sequence[int], stride: Sequence[int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Amounts at the start and the end of each spatial dim for known ``sizes``."""
        if not self.same:
            return self.begin, self.end
        begin, end = [], []
        for size, k, s in zip(sizes, kernel, stride, strict=True):
            total = max((-(-size // s) - 1) * s + k - size, 0)
            less, more = total // 2, total - total // 2
            begin.append(less if self.same == "upper" else more)
            end.append(more if self.same == "upper" else less)
        return tuple(begin), tuple(end)


def conv(
    g: Builder,
    x: Value,
    w: Value,
    bias: Value | None,
    *,
    stride: Sequence[int],
    dilation: Sequence[int],
    padding: Padding,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
) -> Value:
    """x (N,C,…), w (O,C/group,k…) → y (N,O,…); ``kernel_shape`` where w's own is not known."""
    shape = kernel_shape or [int(k) for k in w.shape[2:]]
    kernel = [1 + (k - 1) * d for k, d in zip(shape, dilation, strict=True)]
    attributes = padding.attributes(x.shape[2:], kernel, stride)
    if "auto_pad" in attributes and not automatic(kernel, stride, dilation):
        attributes = {}
        upper = padding.same == "upper"
        amounts = [
            same_padding(g, g.size(x, axis), k, s, upper=upper)
            for axis, k, s in zip(range(2, x.rank), kernel, stride, strict=True)
        ]
        x = pad(g, x, [begin for begin, _ in amounts], [end for _, end in amounts])
    result: Value = g.Conv(
        x,
        w,
        bias,
        kernel_shape=shape,
        strides=stride,
        dilations=dilation,
        group=group,
        **attributes,
    )
    return result


def automatic(kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int] | None = None) -> bool:
    """Whether the engine can work «same» out: it refuses dilations, and kernels that are smaller than the stride."""
    return all(k >= s for k, s in zip(kernel, stride, strict=True)) and all(d == 1 for d in dilation or ())


def deconv(
    g: Builder,
    x: Value,
    w: Value,
    bias: Value | None,
    *,
    stride: Sequence[int],
    padding: Padding,
    dilation: Sequence[int] | None = None,
    sizes: Sequence[int] = (),
    group: int = 1,
) -> Value:
    """x (N,C,…), w (C,O/group,k…) → y (N,O,…): what padding says is cropped off, or y begins there and has ``sizes``.

    «Same» multiplies each size by the stride: k - stride elements go, or come at the end where that is negative.
    """
    kernel = [1 + (int(k) - 1) * d for k, d in zip(w.shape[2:], dilation or [1] * len(stride), strict=True)]
    begin, end = [], []
    for axis, (k, s) in enumerate(zip(kernel, stride, strict=True)):
        total = k - s if padding.same else padding.begin[axis] + padding.end[axis]
        less = max(total, 0) // 2
        start = less if padding.same == "upper" else max(total, 0) - less
        begin.append(start if padding.same else padding.begin[axis])
        end.append(total - begin[axis])
        size = x.shape[2 + axis]
        if isinstance(size, int) and begin[axis] >= (size - 1) * s + k:
            raise CheckError(f"a crop of {begin[axis]} at the start leaves nothing of {(size - 1) * s + k} elements")
    given: dict[str, Any] = {"stride": stride, "begin": begin, "dilation": dilation, "group": group}
    if not sizes:
        return conv_transpose(g, x, w, bias, end=end, **given)
    spatial = x.shape[2:]
    if not all(isinstance(size, int) for size in spatial):
        # all that is behind the crop, zeros up to the wanted size, and no more than that
        y = conv_transpose(g, x, w, None, end=[0] * len(sizes), **given)
        axes = range(2, x.rank)
        more = [at_least(g, minus(g, size, g.size(y, axis)), 0) for size, axis in zip(sizes, axes, strict=True)]
        y = g.Slice(pad(g, y, [0] * len(sizes), more), [0] * len(sizes), sizes, list(axes))
        return y if bias is None else g.Add(y, g.reshape(bias, [-1] + [1] * len(sizes)))
    end = [(int(d) - 1) * s + k - b - o for d, s, k, b, o in zip(spatial, stride, kernel, begin, sizes, strict=True)]
    return conv_transpose(g, x, w, bias, end=end, **given)


def conv_transpose(
    g: Builder,
    x: Value,
    w: Value,
    bias: Value | None,
    *,
    stride: Sequence[int],
    begin: Sequence[int],
    end: Sequence[int],
    dilation: Sequence[int] | None = None,
    group: int = 1,
) -> Value:
    """x (N,C,…), w (C,O/group,k…) → y (N,O,…) with ``begin`` and ``end`` elements cropped off each spatial dim.

    Full size (D-1)·stride + k. A negative ``end`` extends the result instead; nothing of x reaches what lies beyond.
    """
    more = [max(-e, 0) for e in end]
    within = all(m < s for m, s in zip(more, stride, strict=True))
    result: Value = g.ConvTranspose(
        x,
        w,
        bias if within else None,
        kernel_shape=w.shape[2:],
        strides=stride,
        dilations=dilation,
        group=group,
        pads=[*begin, *(max(e, 0) for e in end)],
        output_padding=more if within and any(more) else None,
    )
    if within:
        return result
    # the engine refuses an output padding of stride or more: pad with zeros, then the bias
    result = g.Pad(result, [0] * (2 + len(end)) + [0, 0] + more)
    if bias is not None:
        result = g.Add(result, g.reshape(bias, [-1] + [1] * len(end)))
    return result
