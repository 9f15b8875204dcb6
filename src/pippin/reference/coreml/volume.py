"""Twins of the layers over depth, height and width: pooling and convolution in three dimensions.

N batch, C channels, D, H, W depth, height, width throughout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ...errors import CheckError
from .arrays import as_shape
from .registry import Array, Context, twin
from .rules import blob

_SIZES = ("Depth", "Height", "Width")
_PADS = (("Front", "Back"), ("Top", "Bottom"), ("Left", "Right"))
_CUSTOM, _VALID, _SAME = 0, 1, 2

Pads = list[tuple[int, int]]
Place = tuple[Any, ...]


@twin("pooling3d")
def pooling_3d(context: Context, params: Any, x: Array) -> Array:
    """The largest value or the mean of each window.

    x (N, C, D, H, W) is padded with zeros, which take part in MAX; AVERAGE divides by the size of the window, or by
    how many of its places are no padding (``countExcludePadding``; 0 where there are none). Padding: as
    ``customPadding…`` (CUSTOM), none (VALID), or so that the output has ⌈size / stride⌉ places with the odd one at the
    end (SAME). Source: Pooling3DLayerParams.
    """
    _is_volume(x)
    kernel, stride = _positive(params, "kernel"), _positive(params, "stride")
    if params.type not in (0, 1):
        raise CheckError(f"type must be MAX (0) or AVERAGE (1), got {params.type}")
    pads = _pads(params, x.shape[2:], kernel, stride)
    padded = np.pad(x, [(0, 0), (0, 0), *pads])
    _places(params, padded.shape[2:], kernel, stride)
    if params.type == 0:
        return _windows(padded, kernel, stride, np.max)
    total = _windows(padded, kernel, stride, np.sum)
    if not params.countExcludePadding:
        return total / math.prod(kernel)
    inside = np.pad(np.ones((1, 1, *x.shape[2:])), [(0, 0), (0, 0), *pads])
    return total / np.maximum(_windows(inside, kernel, stride, np.sum), 1)


@twin("globalPooling3d")
def global_pooling_3d(context: Context, params: Any, x: Array) -> Array:
    """The largest value or the mean over depth, height and width.

    x (N, C, D, H, W) → (N, C, 1, 1, 1). Source: GlobalPooling3DLayerParams.
    """
    _is_volume(x)
    if params.type not in (0, 1):
        raise CheckError(f"type must be MAX (0) or AVERAGE (1), got {params.type}")
    extract = np.max if params.type == 0 else np.mean
    return np.asarray(extract(x, axis=(2, 3, 4), keepdims=True))


@twin("convolution3d")
def convolution_3d(context: Context, params: Any, x: Array) -> Array:
    """Convolution over depth, height and width, or its transpose.

    y[o] = Σ w[o, i] ⋆ x[i] + bias[o], i over the channels of o's group; padding as in pooling3d, of zeros.
    x (N, I, D, H, W), w (O, I / groups, d, h, w), bias (O) → (N, O, D', H', W').

    ``isDeconvolution``: each input value adds its multiple of the kernel to the output, ``stride`` apart; then the
    edges are cut off by ``customPadding…`` (CUSTOM), not at all (VALID), or to size · stride with the odd cell from
    the end (SAME). ``outputShape`` fixes the size instead; cutting starts at the same place, and places beyond the
    kernels' reach hold the bias alone. w (I, O / groups, d, h, w).

    Differs: the text writes the transposed weights as (O / groups, I, …), but files in use hold (I, O / groups, …),
    as for convolution in two dimensions. Source: Convolution3DLayerParams.
    """
    _is_volume(x)
    kernel, stride, dilation = (_positive(params, name) for name in ("kernel", "stride", "dilation"))
    inputs, outputs = _channels(params, x)
    groups = int(params.nGroups)
    reach = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True))
    if params.isDeconvolution:
        weights = blob(context, params, "weights", inputs, outputs // groups, *kernel, axis=1)
        y = _transposed(params, x, weights, reach, stride, dilation)
    else:
        if len(params.outputShape):
            raise CheckError("outputShape is for isDeconvolution alone")
        weights = blob(context, params, "weights", outputs, inputs // groups, *kernel)
        padded = np.pad(x, [(0, 0), (0, 0), *_pads(params, x.shape[2:], reach, stride)])
        size = _places(params, padded.shape[2:], reach, stride)
        y = np.zeros((x.shape[0], outputs, *size))
        for tap, place in _taps(size, kernel, stride, dilation):
            for w, source, target in _grouped(groups, weights[tap], padded[place], y):
                target += np.einsum("oi,ni...->no...", w, source)
    return y + blob(context, params, "bias", outputs)[:, None, None, None] if params.hasBias else y


def _transposed(
    params: Any, x: Array, weights: Array, reach: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Array:
    groups, outputs = int(params.nGroups), weights.shape[1] * int(params.nGroups)
    full = tuple((n - 1) * s + r for n, s, r in zip(x.shape[2:], stride, reach, strict=True))
    y = np.zeros(as_shape((x.shape[0], outputs, *full), "the output shape"))
    for tap, place in _taps(x.shape[2:], weights.shape[2:], stride, dilation):
        for w, source, target in _grouped(groups, weights[tap], x, y[place]):
            target += np.einsum("io,ni...->no...", w, source)
    if params.paddingType == _SAME:
        wanted = [n * s for n, s in zip(x.shape[2:], stride, strict=True)]
        starts = [max(f - w, 0) // 2 for f, w in zip(full, wanted, strict=True)]
    else:
        cuts = _pads(params, x.shape[2:], reach, stride)
        wanted = [f - sum(cut) for f, cut in zip(full, cuts, strict=True)]
        starts = [cut[0] for cut in cuts]
    if len(params.outputShape):
        wanted = [int(size) for size in params.outputShape]
        if len(wanted) != 3 or min(wanted) < 1:
            raise CheckError(f"outputShape must hold 3 positive sizes, got {wanted}")
    if min(wanted) < 1:
        raise CheckError(f"customPadding… leaves nothing of an output of size {list(full)}: {wanted}")
    as_shape((*y.shape[:2], *wanted), "outputShape")
    # cells beyond the end of the full result are zeros
    y = np.pad(y, [(0, 0), (0, 0), *((0, max(s + w - f, 0)) for s, w, f in zip(starts, wanted, full, strict=True))])
    window: Place = (..., *(slice(s, s + w) for s, w in zip(starts, wanted, strict=True)))
    return y[window]


def _windows(x: Array, kernel: Sequence[int], stride: Sequence[int], extract: Callable[..., Any]) -> Array:
    """Largest value or sum of each window, one axis after the other, so that a huge kernel takes no longer."""
    for axis, (k, s) in enumerate(zip(kernel, stride, strict=True), start=2):
        every: Place = (*[slice(None)] * axis, slice(None, None, s))
        x = np.asarray(extract(sliding_window_view(x, k, axis=axis)[every], axis=-1))
    return x


def _taps(
    size: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int] = (1, 1, 1)
) -> Iterator[tuple[Place, Place]]:
    """Each place of the kernel, with the slices of all the values it meets while it moves to ``size`` places."""
    for tap in product(*(range(k) for k in kernel)):
        starts = [t * d for t, d in zip(tap, dilation, strict=True)]
        moves = (slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(starts, size, stride, strict=True))
        yield (..., *tap), (..., *moves)


def _grouped(groups: int, weights: Array, x: Array, y: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Weights, input channels and output channels (a view) of each group; weights are split along their first axis."""
    inputs, outputs, rows = x.shape[1] // groups, y.shape[1] // groups, weights.shape[0] // groups
    for g in range(groups):
        w = weights[g * rows : (g + 1) * rows]
        yield w, x[:, g * inputs : (g + 1) * inputs], y[:, g * outputs : (g + 1) * outputs]


def _is_volume(x: Array) -> None:
    if x.ndim != 5:
        raise CheckError(f"the input must have rank 5 (batch, channels, depth, height, width), got {list(x.shape)}")


def _positive(params: Any, prefix: str) -> tuple[int, ...]:
    """The three fields ``prefix``Depth, …Height, …Width."""
    values = tuple(int(getattr(params, prefix + size)) for size in _SIZES)
    for size, value in zip(_SIZES, values, strict=True):
        if value < 1:
            raise CheckError(f"{prefix}{size} must be positive, got {value}")
    return values


def _channels(params: Any, x: Array) -> tuple[int, int]:
    inputs, outputs, groups = int(params.inputChannels), int(params.outputChannels), int(params.nGroups)
    for name, value in (("inputChannels", inputs), ("outputChannels", outputs), ("nGroups", groups)):
        if value < 1:
            raise CheckError(f"{name} must be positive, got {value}")
    if inputs % groups or outputs % groups:
        raise CheckError(f"nGroups must divide inputChannels {inputs} and outputChannels {outputs}, got {groups}")
    if x.shape[1] != inputs:
        raise CheckError(f"inputChannels must equal axis 1 of the input {list(x.shape)}, got {inputs}")
    return inputs, outputs


def _pads(params: Any, shape: Sequence[int], reach: Sequence[int], stride: Sequence[int]) -> Pads:
    if params.paddingType == _VALID:
        return [(0, 0)] * 3
    if params.paddingType == _SAME:
        # ⌈n / s⌉ places need (places - 1) · s + r values
        totals = [max((-(-n // s) - 1) * s + r - n, 0) for n, r, s in zip(shape, reach, stride, strict=True)]
        pads = [(total // 2, total - total // 2) for total in totals]
    elif params.paddingType == _CUSTOM:
        pads = [(_custom(params, before), _custom(params, after)) for before, after in _PADS]
    else:
        raise CheckError(f"paddingType must be CUSTOM (0), VALID (1) or SAME (2), got {params.paddingType}")
    as_shape((n + sum(pad) for n, pad in zip(shape, pads, strict=True)), "the padded shape")
    return pads


def _custom(params: Any, side: str) -> int:
    value = int(getattr(params, f"customPadding{side}"))
    if value < 0:
        raise CheckError(f"customPadding{side} must not be negative, got {value}")
    return value


def _places(params: Any, shape: Sequence[int], reach: Sequence[int], stride: Sequence[int]) -> tuple[int, ...]:
    """How often the kernel fits along each axis of the padded input."""
    for size, n, r in zip(_SIZES, shape, reach, strict=True):
        if n < r:
            raise CheckError(f"kernel{size} reaches over {r} values, more than the padded input has: {n}")
    return tuple((n - r) // s + 1 for n, r, s in zip(shape, reach, stride, strict=True))
