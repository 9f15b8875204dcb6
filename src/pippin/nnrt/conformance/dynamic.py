"""Ranges of dims, dims that are open until Run, and outputs that are too small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..attributes import AvgPoolFusion
from ..enums import DataType, PadMode
from ..enums import ReturnCode as C
from ..types import Tensor
from .models import DIMS, add_model, add_tensors, check_add, check_dims, one_node
from .outcome import Failed
from .target import Target, values

OPEN = (-1, -1, -1)
FLAG = ("IsDynamicInputSupported", "input with open dims")


def _dynamic(target: Target, dims: Sequence[int] = OPEN) -> Any:
    target.need(*FLAG)
    target.need_model(add_model(dims))
    return target.prepare(add_model(dims))


def _ranges(target: Target, prepared: Any) -> tuple[list[list[int]], list[list[int]]]:
    code, results = target.call("GetInputDimRanges", on=prepared)
    target.expect("GetInputDimRanges", code, C.SUCCESS)
    if len(results) != 2:
        raise Failed(f"GetInputDimRanges must answer least and greatest dims, got {len(results)} results")
    least, most = ([[int(dim) for dim in row] for row in rows] for rows in results)
    return least, most


def _fixed_ranges(target: Target) -> None:
    target.need_model(add_model())
    found = _ranges(target, target.prepare(add_model()))
    if found != ([list(DIMS)] * 2, [list(DIMS)] * 2):
        raise Failed(f"fixed dims must be their own range, one row an input, got {found}")


def _open_ranges(target: Target) -> None:
    least, most = _ranges(target, _dynamic(target, (-1, 2, -1)))
    if [len(row) for row in (*least, *most)] != [3] * 4:
        raise Failed(f"there must be one row an input and one entry a dim, got {least} and {most}")
    for lows, highs in zip(least, most, strict=True):
        if not all(0 <= low <= high for low, high in zip(lows, highs, strict=True)):
            raise Failed(f"each range must hold a dim, got {least} and {most}")
    if {row[1] for row in (*least, *most)} != {2}:
        raise Failed(f"a fixed dim must be its own range, got {least} and {most}")


def _inside(target: Target, prepared: Any, dims: Sequence[int]) -> Sequence[int]:
    """These dims, cut to the ranges of the device."""
    least, most = _ranges(target, prepared)
    return [min(max(dim, low), high) for dim, low, high in zip(dims, least[0], most[0], strict=True)]


def _several_shapes(target: Target) -> None:
    prepared = _dynamic(target)
    for dims in ((3, 2, 2), (1, 1, 1), (5, 7, 2), (3, 2, 2)):
        check_add(target, prepared, _inside(target, prepared, dims))


def _roomy_output(target: Target) -> None:
    """More room than is needed, as a caller who guesses gives."""
    prepared = _dynamic(target)
    inputs, _ = add_tensors(target)
    outputs = [target.room((10, 10, 10))]
    code, dims = target.run(prepared, inputs, outputs)
    target.expect("Run", code, C.SUCCESS)
    check_dims(dims, [DIMS])
    if not (values(outputs[0], DIMS) == 3).all():
        raise Failed("1 + 2 must be 3 everywhere")


def _out_of_range(above: bool) -> Any:
    def check(target: Target) -> None:
        prepared = _dynamic(target, (-1, 2, 2))
        least, most = _ranges(target, prepared)
        dim = most[0][0] + 1 if above else least[0][0] - 1
        inputs, outputs = add_tensors(target)
        inputs[0].dimensions = [dim, 2, 2]
        target.expect(f"Run with dim {dim}", target.run(prepared, inputs, outputs)[0], C.OUT_OF_DIMENTION_RANGES)

    return check


def _bad_shape(dims: list[int]) -> Any:
    def check(target: Target) -> None:
        prepared = _dynamic(target, (-1, 2, 2))
        inputs, outputs = add_tensors(target)
        inputs[1].dimensions = dims
        target.expect(f"Run with dims {dims}", target.run(prepared, inputs, outputs)[0], C.INVALID_SHAPE)

    return check


def _too_small(dims: Sequence[int]) -> Any:
    """INSUFFICIENT_BUFFER tells the dims, nothing is written; with the room that it needs the run goes through."""

    def check(target: Target) -> None:
        if -1 in dims:
            prepared = _dynamic(target, dims)
        else:
            target.need_model(add_model())
            prepared = target.prepare(add_model(dims))
        inputs, _ = add_tensors(target)
        small = target.room((3, 2, 2), length=44)
        small.data.bufferSize = small.data.dataSize = 44
        code, told = target.run(prepared, inputs, [small])
        target.expect("Run with an output of 44 bytes for 48", code, C.INSUFFICIENT_BUFFER)
        check_dims(told, [DIMS])
        code, told = target.run(prepared, inputs, [target.room(told[0])])
        target.expect("Run with the room that was asked for", code, C.SUCCESS)

    return check


def _contradiction(target: Target) -> None:
    """Two open dims that turn out to be 3 and 4: the computation cannot be done."""
    import numpy as np

    prepared = _dynamic(target, (-1, 2, 2))
    inputs = [target.tensor(np.ones(dims, np.float32)) for dims in ((3, 2, 2), (4, 2, 2))]
    target.expect_refusal(
        "Run of dims that do not fit each other", target.run(prepared, inputs, [target.room((4, 2, 2))])[0]
    )


def _pooling(target: Target) -> None:
    """The vector of the platform's own tests: 0 to 8 in a square, windows of 2 x 2."""
    import numpy as np

    target.need(*FLAG)
    node = AvgPoolFusion(kernelSize=(2, 2), strides=(1, 1), padMode=PadMode.VALID)
    model = one_node(node, [Tensor("x", dims=[-1] * 4)], [Tensor("y", dims=[-1] * 4)])
    target.need_model(model)
    prepared = target.prepare(model)
    out = target.room((1, 2, 2, 1), DataType.FLOAT32)
    x = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1)
    code, dims = target.run(prepared, [target.tensor(x)], [out])
    target.expect("Run", code, C.SUCCESS)
    check_dims(dims, [(1, 2, 2, 1)])
    if not np.allclose(values(out, (1, 2, 2, 1)).reshape(-1), [2, 3, 5, 6], atol=target.tolerance):
        raise Failed(f"the means must be 2, 3, 5, 6, got {values(out, (1, 2, 2, 1)).reshape(-1).tolist()}")


def cases() -> list[Any]:
    """The cases of this group."""
    return [
        ("ranges of fixed dims", _fixed_ranges),
        ("ranges of open dims", _open_ranges),
        ("several shapes", _several_shapes),
        ("more room than needed", _roomy_output, "sample"),
        ("a dim above the range", _out_of_range(True), "sample"),
        ("a dim below the range", _out_of_range(False), "sample"),
        ("another rank", _bad_shape([3, 4]), "sample"),
        ("another fixed dim", _bad_shape([3, 2, 3]), "sample"),
        ("an output too small, open dims", _too_small((-1, 2, 2)), "sample"),
        ("an output too small, fixed dims", _too_small(DIMS), "sample"),
        ("open dims that contradict each other", _contradiction, "Pippin"),
        ("AvgPool of open dims", _pooling),
    ]
