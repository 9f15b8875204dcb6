"""Bad input → code: models, configurations, runs, and which code comes first."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from ..enums import DataType, Format
from ..enums import ReturnCode as C
from ..types import IOTensor, ModelConfig
from .changes import ACCEPTED, HOSTILE, REFUSED, Row
from .models import add_model, add_tensors
from .target import Target

Tensors = tuple[list[IOTensor], list[IOTensor]]


def _model(row: Row) -> Any:
    def check(target: Target) -> None:
        target.need_model(add_model())
        model = add_model()
        row.change(model)
        code, _ = target.call("PrepareModel", model, ModelConfig())
        if row.codes:
            target.expect("PrepareModel", code, *row.codes)
        else:
            target.expect_refusal("PrepareModel", code)

    return check


def _config(config: ModelConfig, code: C) -> Any:
    def check(target: Target) -> None:
        target.need_model(add_model())
        target.expect("PrepareModel", target.call("PrepareModel", add_model(), config)[0], code)

    return check


def _order(first: Row, second: Row) -> Any:
    """A model that is wrong twice gets the code of what is looked at first."""

    def check(target: Target) -> None:
        target.need_model(add_model())
        model = add_model()
        second.change(model)
        first.change(model)
        target.expect("PrepareModel", target.call("PrepareModel", model, ModelConfig())[0], *first.codes)

    return check


def _model_before_config(target: Target) -> None:
    target.need_model(add_model())
    model = add_model()
    model.nodes = []
    code, _ = target.call("PrepareModel", model, ModelConfig(mode=9, priority=9))
    target.expect("PrepareModel", code, C.INVALID_NODE)


def _run(change: Callable[[list[IOTensor], list[IOTensor]], Any], *codes: C) -> Any:
    def check(target: Target) -> None:
        target.need_model(add_model())
        prepared = target.prepare(add_model())
        inputs, outputs = add_tensors(target)
        change(inputs, outputs)
        code, _ = target.run(prepared, inputs, outputs)
        if codes:
            target.expect("Run", code, *codes)
        else:
            target.expect_refusal("Run", code)

    return check


def _set(place: int, **new: Any) -> Callable[[list[IOTensor], list[IOTensor]], None]:
    """Changes fields of an input (0, 1) or of the output (2), or of their memory."""

    def change(inputs: list[IOTensor], outputs: list[IOTensor]) -> None:
        tensor = [*inputs, *outputs][place]
        for name, value in new.items():
            setattr(tensor.data if hasattr(tensor.data, name) else tensor, name, value)

    return change


RUNS: list[Any] = [
    ("Run without inputs", _run(lambda i, o: i.clear(), C.INVALID_INPUT)),
    ("Run with one input", _run(lambda i, o: i.pop(), C.INVALID_INPUT), "sample"),
    ("Run with three inputs", _run(lambda i, o: i.append(i[0]), C.INVALID_INPUT), "sample"),
    ("Run without outputs", _run(lambda i, o: o.clear(), C.INVALID_OUTPUT)),
    ("Run with two outputs", _run(lambda i, o: o.append(o[0]), C.INVALID_OUTPUT), "sample"),
    ("Run: another dataType", _run(_set(0, dataType=DataType.INT32), C.INVALID_DATATYPE), "sample"),
    ("Run: another format", _run(_set(1, format=Format.NCHW), C.INVALID_FORMAT), "sample"),
    ("Run: another rank", _run(_set(0, dimensions=[3, 4]), C.INVALID_SHAPE), "sample"),
    ("Run: another dim", _run(_set(1, dimensions=[3, 2, 3]), C.INVALID_SHAPE), "sample"),
    ("Run: input memory missing", _run(_set(0, fd=-1), C.INVALID_PARAMETER), "sample"),
    ("Run: input descriptor closed", _run(_set(0, fd=1 << 20), C.INVALID_PARAMETER), "sample"),
    ("Run: input range beyond its memory", _run(_set(0, offset=1 << 30), C.INVALID_PARAMETER), "sample"),
    ("Run: input data too short", _run(_set(1, dataSize=40)), "text"),
    ("Run: output memory missing", _run(_set(2, fd=-1)), "text"),
    ("Run: output range beyond its memory", _run(_set(2, offset=1 << 30)), "text"),
    ("Run: dims of 2^93 elements", _run(_set(0, dimensions=[(1 << 31) - 1] * 3), C.INVALID_SHAPE), "sample"),
]


def cases() -> list[Any]:
    """The cases of this group."""
    found: list[Any] = [(f"refused: {row.name}", _model(row), row.basis) for row in REFUSED]
    found += [(f"prepared: {row.name}", _model(row)) for row in ACCEPTED]
    found += [(f"hostile: {row.name}", _model(row), "Pippin") for row in HOSTILE]
    for mode in (-1, 5):
        found.append((f"mode {mode}", _config(ModelConfig(mode=mode), C.INVALID_PERFORMANCE_MODE)))
    for priority in (-1, 4):
        found.append((f"priority {priority}", _config(ModelConfig(priority=priority), C.INVALID_PRIORITY)))
    found.append(("mode before priority", _config(ModelConfig(mode=5, priority=4), C.INVALID_PERFORMANCE_MODE),
                  "sample"))  # fmt: skip
    found.append(("the model before the configuration", _model_before_config, "sample"))
    by_name = {row.name: row for row in REFUSED}
    chain = ["allTensors empty", "subGraph empty", "nodes empty", "inputIndex empty", "outputIndex empty",
             "dataType 1000 of one tensor", "nodeAttr empty", "quantType 1000"]  # fmt: skip
    for first, second in pairwise(chain):
        found.append((f"{first} before {second}", _order(by_name[first], by_name[second]), "sample"))
    return found + RUNS
