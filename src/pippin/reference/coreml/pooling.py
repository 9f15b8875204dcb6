"""Twin of the 2-D pooling layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import as_shape
from .convolution import Pads, padding
from .registry import Array, Context, twin
from .rules import choice, enum, fold, need_rank, pair, require, unfold


@twin("pooling")
def pooling(context: Context, params: Any, x: Array) -> Array:
    """Maximum, mean or Euclidean norm of a window over the last two axes.

    MAX: max x; AVERAGE: Σx / n; L2: √Σx² over the window

    x [...,C,H,W] → [...,C,H_out,W_out]. Padded cells are -inf for MAX and 0 otherwise; n is the number of cells of the
    window, padded ones included unless ``avgPoolExcludePadding``. ``globalPooling`` takes the whole plane as window.
    Defaults: kernelSize [3,3], stride [1,1].
    """
    need_rank(x, 4)
    kind = enum(params, "type")
    size = x.shape[-2], x.shape[-1]
    pads: Pads = (0, 0), (0, 0)
    if params.globalPooling:  # then nobody looks at kernelSize, where real files have [0, 0]
        kernel, stride = size, (1, 1)
    else:
        kernel, stride = pair(params.kernelSize, 3, "kernelSize"), pair(params.stride, 1, "stride")
        if choice(params, "PoolingPaddingType") == "includeLastPixel":
            pads = complete_pads(params.includeLastPixel.paddingAmounts, size, kernel, stride)
        else:
            pads = padding(params, "PoolingPaddingType", size, kernel, stride)
    cells = fold(x)
    if kind == "MAX":
        y = slide(cells, kernel, stride, pads, -np.inf, np.max)
    elif kind == "L2":
        y = np.sqrt(slide(np.square(cells), kernel, stride, pads, 0.0, np.sum))
    else:
        count: Any = kernel[0] * kernel[1]
        if params.avgPoolExcludePadding:
            count = np.maximum(slide(np.ones_like(cells), kernel, stride, pads, 0.0, np.sum), 1.0)
        y = slide(cells, kernel, stride, pads, 0.0, np.sum) / count
    return unfold(y, x)


def complete_pads(amounts: Any, size: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int]) -> Pads:
    """The padding of ``includeLastPixel``: as much at the end as the last window needs, which may be negative."""
    require(len(amounts) in (0, 2), f"paddingAmounts must hold 2 integers [H, W], got {list(amounts)}")
    start = [int(amount) for amount in amounts] or [0, 0]
    pads = []
    for i in range(2):
        out = -(-(size[i] + 2 * start[i] - kernel[i]) // stride[i]) + 1
        if any(start) and (out - 1) * stride[i] >= size[i] + start[i]:
            out -= 1
        require(out > 0, f"kernelSize {list(kernel)} must fit into the padded input, whose size is {list(size)}")
        pads.append((start[i], (out - 1) * stride[i] + kernel[i] - size[i] - start[i]))
    return pads[0], pads[1]


def slide(
    x: Array,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    pads: Pads,
    fill: float,
    function: Callable[[Array, int], Array],
) -> Array:
    """x [N,C,H,W] → [N,C,H_out,W_out]: the maximum or sum of each window, along the height and then the width."""
    grow = [(start, max(end, 0)) for start, end in pads]
    as_shape((*x.shape[:2], *(x.shape[2 + i] + sum(grow[i]) for i in range(2))), "paddingAmounts")
    x = np.pad(x, ((0, 0), (0, 0), *grow), constant_values=fill)
    for i, (_, end) in enumerate(pads):
        x = np.take(x, range(x.shape[2 + i] + min(end, 0)), axis=2 + i)
        require(kernel[i] <= x.shape[2 + i], f"kernelSize {list(kernel)} must fit into the padded input, got {x.shape}")
        seen = np.lib.stride_tricks.sliding_window_view(x, kernel[i], 2 + i)
        seen = seen[:, :, :: stride[0]] if i == 0 else seen[:, :, :, :: stride[1]]
        as_shape(seen.shape, "kernelSize")
        x = function(seen, -1)
    return x
