"""Writes what torch and torchvision answer for N-dimensional layers to ``tests/fixtures/torch_nd_<kind>.npz``.

Run with an interpreter that has torch and torchvision: ``python tools/make_torch_fixtures_nd.py``. Each file holds a
number of examples: ``0/params`` (the layer's parameters, JSON), ``0/x0``, ``0/x1`` … (inputs), ``0/y0`` … (answers) and
one array for each weight under its field's name. Answers are computed in float64 from float32 inputs and weights.

``coremltools_transposed3d.npz`` holds whole files (``0/file``) that coremltools (9.0) makes of torch's ConvTranspose3d:
they show in which order such files store their weights.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

torch: Any = importlib.import_module("torch")
vision: Any = importlib.import_module("torchvision.ops")
F: Any = torch.nn.functional

FOLDER = Path(__file__).parent.parent / "tests" / "fixtures"
RANDOM = np.random.default_rng(20)
SIDES = ("Front", "Back", "Top", "Bottom", "Left", "Right")
Example = dict[str, Any]
Triple = tuple[int, int, int]


def numbers(*shape: int) -> Any:
    """Normal numbers as float32."""
    return RANDOM.standard_normal(shape).astype(np.float32)


def double(values: Any) -> Any:
    return torch.from_numpy(np.asarray(values, np.float64))


def three(name: str, values: Triple) -> dict[str, int]:
    return dict(zip((f"{name}Depth", f"{name}Height", f"{name}Width"), values, strict=True))


def sides(pads: tuple[int, ...]) -> dict[str, int]:
    return {f"customPadding{side}": pad for side, pad in zip(SIDES, pads, strict=True)}


def same(shape: tuple[int, ...], reach: Triple, stride: Triple) -> tuple[int, ...]:
    """Front, back, top, bottom, left, right for ⌈size / stride⌉ places, the odd one at the end."""
    totals = [max((-(-n // s) - 1) * s + r - n, 0) for n, r, s in zip(shape, reach, stride, strict=True)]
    return tuple(part for total in totals for part in (total // 2, total - total // 2))


def padded(x: Any, pads: tuple[int, ...]) -> Any:
    """x with zeros around it; torch names the last axis first."""
    return F.pad(double(x), (*pads[4:], *pads[2:4], *pads[:2]))


def convolutions() -> Iterator[Example]:
    for channels, groups, kernel, stride, dilation, mode, pads in (
        ((3, 2), 1, (3, 3, 3), (2, 2, 2), (1, 1, 1), "SAME", None),
        ((2, 4), 2, (2, 3, 1), (1, 2, 1), (1, 1, 1), "VALID", None),
        ((3, 6), 3, (2, 2, 3), (1, 1, 2), (2, 1, 1), "CUSTOM", (1, 0, 2, 1, 0, 3)),
        ((1, 2), 1, (3, 2, 2), (1, 1, 1), (1, 2, 3), "SAME", None),
    ):
        x, weights = numbers(2, channels[0], 4, 6, 7), numbers(channels[1], channels[0] // groups, *kernel)
        bias = numbers(channels[1])
        reach: Any = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True))
        amounts = pads or ((0,) * 6 if mode == "VALID" else same(x.shape[2:], reach, stride))
        y = F.conv3d(padded(x, amounts), double(weights), double(bias), stride, 0, dilation, groups)
        params: dict[str, Any] = {
            "inputChannels": channels[0],
            "outputChannels": channels[1],
            "nGroups": groups,
            "hasBias": True,
        }
        params |= three("kernel", kernel) | three("stride", stride) | three("dilation", dilation)
        params |= {"paddingType": mode} | (sides(pads) if pads else {})
        yield {"params": params, "x0": x, "weights": weights, "bias": bias, "y0": y}


def transposed() -> Iterator[Example]:
    for channels, groups, kernel, stride, pad, more, dilation in (
        ((2, 3), 1, 4, 2, 1, 0, 1),
        ((3, 2), 1, 3, 2, 1, 1, 1),
        ((4, 6), 2, 5, 3, 2, 1, 1),
        ((4, 4), 4, 2, 2, 0, 0, 1),
        ((3, 3), 1, 2, 1, 1, 0, 2),
        ((5, 2), 1, 1, 3, 0, 2, 1),
    ):
        x, weights = numbers(2, channels[0], 2, 3, 4), numbers(channels[0], channels[1] // groups, *(kernel,) * 3)
        bias = numbers(channels[1])
        y = F.conv_transpose3d(double(x), double(weights), double(bias), stride, pad, more, groups, dilation)
        params: dict[str, Any] = {
            "inputChannels": channels[0],
            "outputChannels": channels[1],
            "nGroups": groups,
            "hasBias": True,
        }
        params |= three("kernel", (kernel,) * 3) | three("stride", (stride,) * 3) | three("dilation", (dilation,) * 3)
        params |= {"isDeconvolution": True, "paddingType": "CUSTOM"} | sides((pad,) * 6)
        params |= {"outputShape": list(y.shape[2:])} if more else {}
        yield {"params": params, "x0": x, "weights": weights, "bias": bias, "y0": y}


def poolings() -> Iterator[Example]:
    for kernel, stride, mode, pads in (
        ((2, 2, 2), (1, 1, 1), "VALID", None),
        ((2, 3, 2), (2, 1, 3), "VALID", None),
        ((3, 2, 4), (1, 2, 1), "SAME", None),
        ((3, 3, 3), (2, 2, 2), "CUSTOM", (1, 1, 1, 1, 1, 1)),
        ((2, 3, 4), (1, 2, 2), "CUSTOM", (0, 1, 2, 0, 1, 3)),
    ):
        x = numbers(1, 2, 4, 5, 6) - np.float32(1)
        amounts = pads or ((0,) * 6 if mode == "VALID" else same(x.shape[2:], kernel, stride))
        params = (
            three("kernel", kernel) | three("stride", stride) | {"paddingType": mode} | (sides(pads) if pads else {})
        )
        wide = padded(x, amounts)
        yield {"params": params | {"type": "MAX"}, "x0": x, "y0": F.max_pool3d(wide, kernel, stride)}
        yield {"params": params | {"type": "AVERAGE"}, "x0": x, "y0": F.avg_pool3d(wide, kernel, stride)}
        if len(set(amounts)) == 1:
            y = F.avg_pool3d(double(x), kernel, stride, amounts[0], count_include_pad=False)
            yield {"params": params | {"type": "AVERAGE", "countExcludePadding": True}, "x0": x, "y0": y}


def norms() -> Iterator[Example]:
    for shape, over, eps in (((4, 6), 1, 1e-5), ((2, 3, 4), 2, 0.1), ((2, 1, 3, 2, 4), 3, 1e-3), ((3, 5), 2, 1e-5)):
        size = shape[-over:]
        x, gamma, beta = numbers(*shape), numbers(*size), numbers(*size)
        y = F.layer_norm(double(x), size, double(gamma), double(beta), float(np.float32(eps)))
        yield {"params": {"normalizedShape": size, "eps": eps}, "x0": x, "gamma": gamma, "beta": beta, "y0": y}


def scatters() -> Iterator[Example]:
    for mode, reduce in (("ADD", "sum"), ("MUL", "prod"), ("MAX", "amax"), ("MIN", "amin")):
        for axis in (0, 1, 2):
            size = [4, 3, 5]
            size[axis] = 7
            x, updates = numbers(4, 3, 5), numbers(*size)
            indices = RANDOM.integers(0, (4, 3, 5)[axis], size)
            y = double(x).scatter_reduce(axis, torch.from_numpy(indices), double(updates), reduce)
            params = {"axis": axis, "mode": f"SCATTER_{mode}"}
            yield {"params": params, "x0": x, "x1": indices.astype(np.float32), "x2": updates, "y0": y}


def suppressions() -> Iterator[Example]:
    for per_class in (False, True):
        for iou, least in ((0.3, 0.0), (0.5, 0.25), (0.7, 0.5)):
            count, classes, room = 40, 3, 45
            boxes = np.concatenate([RANDOM.uniform(0, 4, (count, 2)), RANDOM.uniform(0.5, 3, (count, 2))], 1)
            boxes = boxes.astype(np.float32)
            # all scores differ by far more than rounding
            scores = (RANDOM.permutation(count * classes).reshape(count, classes) / (count * classes)).astype(
                np.float32
            )
            corners = vision.box_convert(double(boxes), "cxcywh", "xyxy")
            best, owner = double(scores).max(1)
            able = torch.nonzero(best >= least)[:, 0]
            groups = owner[able] if per_class else torch.zeros(len(able))
            kept = able[vision.batched_nms(corners[able], best[able], groups, iou)].numpy()
            indices = np.full(room, -1.0)
            indices[: len(kept)] = kept
            params = {"iouThreshold": iou, "scoreThreshold": least, "maxBoxes": room, "perClassSuppression": per_class}
            yield {"params": params, "x0": boxes[None], "x1": scores[None], "y2": indices[None], "y3": [len(kept)]}


def converted() -> Iterator[Example]:
    """Files of coremltools; all sizes differ, so that no other order of the weights gives the same numbers."""
    tools: Any = importlib.import_module("coremltools")
    torch.manual_seed(3)
    for inputs, outputs, kernel, stride, pad, groups, dilation in ((2, 3, 3, 2, 1, 1, 1), (4, 6, 2, 1, 0, 2, 2)):
        layer = torch.nn.ConvTranspose3d(inputs, outputs, kernel, stride, pad, 0, groups, True, dilation).eval()
        x = torch.from_numpy(numbers(1, inputs, 2, 3, 4))
        shape = tools.TensorType(name="x", shape=x.shape)
        model = tools.convert(torch.jit.trace(layer, x), inputs=[shape], convert_to="neuralnetwork")
        y = layer.double()(x.double()).detach()
        yield {"file": np.frombuffer(model.get_spec().SerializeToString(), np.uint8), "x": x, "y": y}


def save(name: str, examples: Iterator[Example]) -> None:
    arrays: dict[str, Any] = {}
    for number, example in enumerate(examples):
        for field, value in example.items():
            arrays[f"{number}/{field}"] = json.dumps(value) if field == "params" else np.asarray(value)
    FOLDER.mkdir(exist_ok=True)
    np.savez_compressed(FOLDER / f"{name}.npz", **arrays)


def write(kind: str, examples: Iterator[Example]) -> None:
    save(f"torch_nd_{kind}", examples)


if __name__ == "__main__":
    write("convolution3d", convolutions())
    write("convolution3d_transposed", transposed())
    write("pooling3d", poolings())
    write("layerNormalization", norms())
    write("scatterAlongAxis", scatters())
    write("NonMaximumSuppression", suppressions())
    save("coremltools_transposed3d", converted())
