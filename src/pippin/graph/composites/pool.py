"""Pooling over any number of spatial dims: maximum, mean and L2 norm, with windows that ONNX has no attribute for."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import CheckError
from ..builder import Builder, Size
from ..ir import Value
from .conv import Padding, automatic
from .pad import pad
from .sizes import ceil_div, floor_div, largest, plus, same_padding

LOWEST = -3.4028234663852886e38
"""The least finite float32."""
_OPERATORS = {"max": "MaxPool", "mean": "AveragePool", "norm": "LpPool"}
_GLOBAL = {"max": "GlobalMaxPool", "mean": "GlobalAveragePool", "norm": "GlobalLpPool"}


def global_pool(g: Builder, x: Value, kind: str) -> Value:
    """x (N,C,…) → y (N,C,1,…): ``kind`` is "max", "mean" or "norm" (root of the sum of squares)."""
    result: Value = g.emit(_GLOBAL[kind], x, p=2 if kind == "norm" else None)
    return result


def pool(
    g: Builder,
    x: Value,
    kind: str,
    *,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Padding,
    complete: bool = False,
    count_padding: bool = True,
    fill: float | None = None,
) -> Value:
    """x (N,C,D…) → y (N,C,D'…), each y from a window of x; ``kind`` is "max", "mean" or "norm" (√Σx²).

    Windows: those that fit into the padded input. ``complete``: windows go on until the last element of x is in one, as
    with ceil rounding; with padding, one that would begin behind x and its start padding is dropped again.
    ``count_padding``: a mean divides by the window's size, else by the number of elements of x in it.
    ``fill``: what the maximum sees in the padding; None: it sees nothing there.
    """
    sizes = [g.size(x, axis) for axis in range(2, x.rank)]
    if padding.same and fill is None and not x.static and automatic(kernel, stride):
        return _window(g, x, kind, kernel, stride, count_padding, **padding.attributes(x.shape[2:], kernel, stride))
    begin, end, keep = _amounts(g, sizes, kernel, stride, padding, complete)
    for size, k, before, after in zip(sizes, kernel, begin, end, strict=True):
        if isinstance(size, int) and isinstance(before, int) and isinstance(after, int) and size + before + after < k:
            raise CheckError(f"a kernel of {list(kernel)} does not fit into the input {list(x.shape)} with its padding")
    amounts = [amount for amount in (*begin, *end) if isinstance(amount, int)]
    within = len(amounts) == 2 * len(kernel) and all(a < k for a, k in zip(amounts, [*kernel, *kernel], strict=True))
    if within and (fill is None or not any(amounts)):
        y = _window(g, x, kind, kernel, stride, count_padding, pads=amounts if any(amounts) else None)
    else:
        # the engine takes no padding as large as the kernel, and none that is not known
        value = 0.0 if kind != "max" else -float("inf") if fill is None else fill
        y = _window(g, pad(g, x, begin, end, value=value), kind, kernel, stride, True)
        if kind == "max" and fill is None and any(a >= k for a, k in zip(amounts, [*kernel, *kernel], strict=False)):
            # windows of padding alone: the engine begins with its lowest number, not with -inf
            y = g.Where(g.Equal(y, LOWEST), -float("inf"), y)
        if kind == "mean" and not count_padding:
            ones = g.expand(g.constant(1.0, x.dtype), [1, 1, *sizes])
            share = _window(g, pad(g, ones, begin, end), kind, kernel, stride, True)
            # a window of padding alone has the mean 0
            y = g.Div(y, g.Max(share, 1e-30))
    if any(limit is not None for limit in keep):
        axes = [axis for axis, limit in enumerate(keep) if limit is not None]
        limits = g.vector([limit for limit in keep if limit is not None])
        y = g.Slice(y, [0] * len(axes), limits, [axis + 2 for axis in axes])
    return y


def _window(
    g: Builder,
    x: Value,
    kind: str,
    kernel: Sequence[int],
    stride: Sequence[int],
    count_padding: bool,
    pads: Sequence[int] | None = None,
    auto_pad: str | None = None,
) -> Value:
    padded = pads is not None or auto_pad is not None
    result: Value = g.emit(
        _OPERATORS[kind],
        x,
        kernel_shape=kernel,
        strides=stride,
        pads=pads,
        auto_pad=auto_pad,
        p=2 if kind == "norm" else None,
        count_include_pad=1 if kind == "mean" and padded and count_padding else None,
    )
    return result


def _amounts(
    g: Builder,
    sizes: Sequence[Size],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Padding,
    complete: bool,
) -> tuple[list[Size], list[Size], list[Size | None]]:
    """What is added at the start and the end of each axis, and how many windows are kept where not all are."""
    begin: list[Size] = []
    end: list[Size] = []
    keep: list[Size | None] = []
    padded = any((*padding.begin, *padding.end))
    for axis, (size, k, s) in enumerate(zip(sizes, kernel, stride, strict=True)):
        limit: Size | None = None
        if padding.same:
            before, after = same_padding(g, size, k, s, upper=padding.same == "upper")
        else:
            before, after = padding.begin[axis], padding.end[axis]
        if complete and isinstance(size, int):
            after = _completed(size, k, s, padding.begin[axis], padding.end[axis], padded)
        elif complete:
            # s - 1 elements more round the number of windows up, whatever the size is
            after = padding.end[axis] + s - 1
            if padded and padding.end[axis] > k - s:
                # one window goes if it begins behind x, and no more than that one
                windows = floor_div(g, plus(g, size, padding.begin[axis] + after - k), s)
                limit = largest(g, ceil_div(g, plus(g, size, padding.begin[axis]), s), windows)
        begin.append(before)
        end.append(after)
        keep.append(limit)
    return begin, end, keep


def _completed(size: int, kernel: int, stride: int, before: int, after: int, padded: bool) -> int:
    """How much to add behind an axis of known size, so that exactly the windows of ``complete`` fit."""
    windows = -(-(size + before + after - kernel) // stride) + 1
    if padded and (windows - 1) * stride >= size + before:
        windows -= 1
    # less than nothing: elements at the end that no window reaches; fewer than a stride, so no window more fits
    return max((windows - 1) * stride + kernel - size - before, 0)
