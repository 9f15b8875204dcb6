"""Engines that the benchmarks compare: each a function of a network's files that returns a call.

A network NAME in a folder is NAME.mlmodel (ours), NAME.onnx (the others; NAME.mnn is made of it) and NAME.npz with an
input x and the answer y. Networks without torch's export get ours: see ``export``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Call = Callable[[], NDArray[Any]]
NETWORKS = ("mobilenet_v2", "resnet50", "squeezenet", "efficientnet_b0", "unet", "encoder", "bilstm")


def ours(folder: Path, name: str, threads: int, *, mmap: bool = False) -> Call:
    import pippin

    model = pippin.load(folder / f"{name}.mlmodel", threads=threads, mmap=mmap)
    data = dict(np.load(folder / f"{name}.npz"))
    wanted = data.pop("y")
    if "picture" in data:
        data = {next(iter(model.inputs)): data["picture"]}
    output = next((key for key, entry in model.outputs.items() if entry.kind == "multiarray"), None)
    if output is None:  # a classifier: all probabilities
        output = next(key for key, entry in model.outputs.items() if entry.kind == "dictionary")
        return lambda: np.array([*model.predict(data)[output].values()], wanted.dtype)
    return lambda: model.predict(data)[output]


def fed(folder: Path, name: str) -> Call:
    """What makes the input of a run: nothing for an array; a picture has to become planes, which ours does as well."""
    data = np.load(folder / f"{name}.npz")
    x = data["x"]
    if "picture" not in data:
        return lambda: x
    picture = data["picture"]
    planes = picture.reshape(*picture.shape[:2], -1)
    if not np.array_equal(planes.transpose(2, 0, 1)[None], x):
        planes = planes[..., ::-1]
    return lambda: np.ascontiguousarray(planes.transpose(2, 0, 1)[None], np.float32)


def ort(folder: Path, name: str, threads: int, entries: Mapping[str, str] = MappingProxyType({})) -> Call:
    """ONNX Runtime on torch's export, as it is, or with ``entries`` of the session's configuration."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    for key, value in entries.items():
        options.add_session_config_entry(key, value)
    path = str(folder / f"{name}.onnx")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed, key = fed(folder, name), session.get_inputs()[0].name
    return lambda: session.run(None, {key: feed()})[0]


def openvino(folder: Path, name: str, threads: int) -> Call:
    import openvino as ov

    core = ov.Core()
    # float32 like the others: on some processors it would take bfloat16, with errors of 4e-3
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    core.set_property("CPU", settings)
    request = core.compile_model(str(folder / f"{name}.onnx"), "CPU").create_infer_request()
    feed = fed(folder, name)
    return lambda: request.infer({0: feed()})[0]


def mnn(folder: Path, name: str, threads: int) -> Call:
    import MNN.expr
    import MNN.nn

    path = folder / f"{name}.mnn"
    if not path.exists():
        converter = Path(sys.executable).with_name("mnnconvert")
        made = ["-f", "ONNX", "--modelFile", folder / f"{name}.onnx", "--MNNModel", path, "--bizCode", "bench"]
        subprocess.run([str(part) for part in (converter, *made)], check=True, capture_output=True)
    import onnx

    graph = onnx.load(folder / f"{name}.onnx", load_external_data=False).graph
    names = [graph.input[0].name], [graph.output[0].name]
    manager = MNN.nn.create_runtime_manager(({"backend": 0, "precision": "high", "numThread": threads},))
    network = MNN.nn.load_module_from_file(str(path), *names, runtime_manager=manager)
    feed = fed(folder, name)
    shape = list(feed().shape)

    def run() -> NDArray[Any]:
        return np.array(network.forward(MNN.expr.const(feed(), shape, MNN.expr.NCHW)).read())

    return run


def session_of(folder: Path, name: str, threads: int, options: dict[str, str]) -> Call:
    """Our graph in a session with ``options``."""
    import pippin
    from pippin.graph import passes
    from pippin.graph.write import write
    from pippin.runtime.session import Session

    model = pippin.load(folder / f"{name}.mlmodel", threads=1)
    graph = model.graph(optimize=False)
    passes.optimize(graph)
    session = Session(write(graph), threads=threads, options=options)
    feeds = {session.inputs[0]: np.load(folder / f"{name}.npz")["x"]}
    return lambda: session.run(feeds)[0]


def spinning(folder: Path, name: str, threads: int) -> Call:
    """A session whose threads go on waiting busily, as the engine's default is."""
    from pippin.runtime.session import SPINNING

    return session_of(folder, name, threads, SPINNING)


def stopping(folder: Path, name: str, threads: int) -> Call:
    """A session whose threads sleep as soon as a run ends."""
    from pippin.runtime.session import SPINNING

    return session_of(folder, name, threads, SPINNING | {"session.force_spinning_stop": "1"})


ENGINES: dict[str, Callable[[Path, str, int], Call]] = {
    "ours": ours,
    "ort": ort,
    "openvino": openvino,
    "mnn": mnn,
    "spinning": spinning,
    "stopping": stopping,
}


def export(model_path: Path, folder: Path) -> str:
    """Lays a Core ML file of one input into ``folder`` as a network of the benchmarks; the others get our export."""
    import pippin
    from pippin.graph.write import write

    model = pippin.load(model_path)
    (entry,) = model.inputs.values()
    name = model_path.stem
    generator = np.random.default_rng(0)
    data: dict[str, Any] = {}
    if entry.kind == "image":
        width, height = entry.size
        shape = (height, width) if entry.color.startswith("GRAY") else (height, width, 3)
        data["picture"] = generator.integers(0, 256, shape, dtype=np.uint8)
        # what the graph wants: the picture in the order of its colours, as [1,C,H,W]
        planes = data["picture"].reshape(height, width, -1)
        planes = planes[..., ::-1] if entry.color == "BGR" else planes
        data["x"] = np.ascontiguousarray(planes.transpose(2, 0, 1)[None], np.float32)
    else:
        graph_input = model.graph().inputs[0]
        data["x"] = generator.standard_normal(graph_input.shape).astype(np.float32)
    target = folder / f"{name}.mlmodel"
    target.unlink(missing_ok=True)
    target.symlink_to(model_path.resolve())
    (folder / f"{name}.onnx").write_bytes(write(model.graph(), inline=None).model.SerializeToString())
    # the answer of the engine without any rewriting, neither ours nor its own
    from pippin.runtime.session import Session

    session = Session(write(model.graph(optimize=False)), optimize=False)
    data["y"] = session.run({session.inputs[0]: data["x"]})[0]
    np.savez(folder / f"{name}.npz", **data)
    return name
