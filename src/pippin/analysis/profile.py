"""Where a model's time goes, layer by layer, beside what each layer is: operations, parameters, bytes.

Times are the engine's own, of the network as it really runs: rewritten and fused. A fused operator's time belongs to
the layer that does most of its work; the other layers in it are said to run inside of that one, with no time of their
own. What belongs to no layer, such as reordering for the engine's layouts, is a line of its own.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import PippinError, UnsupportedError, WriteError
from ..graph import flops
from ..graph.ir import Graph, Node
from ..loading import loaded
from ..onnx_model import OnnxModel
from . import measure, samples, work
from .work import Layer

if TYPE_CHECKING:
    from ..coreml.read import Source
    from ..loading import AnyModel

SCHEMA = 1
"""Version of the JSON of a profile."""
ENGINE = "engine: reordering for its layouts"
"""What to call time that the engine spends on layouts of its own."""
FUSED = "engine: fused, of no one layer"
"""What to call time of operators that the engine made of several and gave a name of its own."""
MADE = ("Reorder", "gemm_")
"""How labels of operators begin that bring numbers into another layout or shape for the engine."""
RUNS = 10


@dataclass
class Row:
    """One layer with its time: milliseconds a run (the median of the runs), and the share of all layers.

    ``inside`` is the layer in whose operator this one runs, "" where it has time of its own or none is to be told.
    """

    place: str
    kind: str
    depth: int
    ms: float
    share: float
    flops: int
    parameters: int
    bytes: int
    inside: str = ""


@dataclass
class Profile:
    """A model's rows in the order of its layers, and totals.

    ``run_ms`` is the median time of a whole run without the profiler, ``fastest_ms`` the best one; ``fresh`` what a new
    process measured: seconds to load and to the first answer, megabytes.
    """

    name: str
    rows: list[Row]
    run_ms: float
    fastest_ms: float
    runs: int
    threads: int | None
    operators: int
    fresh: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        from ..report import profiles

        return profiles.as_text(self)

    def total(self, what: str) -> Any:
        """The sum of a column over all rows."""
        return sum(getattr(row, what) for row in self.rows)

    def by_kind(self) -> list[tuple[str, int, float, int]]:
        """Kind, number of layers, milliseconds, operations; most time first."""
        found: dict[str, list[Any]] = {}
        for row in self.rows:
            entry = found.setdefault(row.kind, [0, 0.0, 0])
            entry[0] += 1
            entry[1] += row.ms
            entry[2] += row.flops
        return sorted(((kind, *entry) for kind, entry in found.items()), key=lambda entry: -entry[2])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "schema": SCHEMA,
            "file": self.name,
            "runMs": self.run_ms,
            "fastestMs": self.fastest_ms,
            "runs": self.runs,
            "threads": self.threads,
            "operators": self.operators,
            "totals": {key: self.total(key) for key in ("ms", "flops", "parameters", "bytes")},
            "fresh": self.fresh,
            "layers": [asdict(row) for row in self.rows],
            "notes": self.notes,
        }


def profile(
    model: AnyModel | Source,
    data: Mapping[str, Any] | None = None,
    *,
    runs: int = RUNS,
    seed: int = 0,
    fresh: bool = True,
) -> Profile:
    """Profiles ``model``, a model or a path, on ``data`` (made up from ``seed`` if there is none), over ``runs`` runs.

    ``fresh``: also measure loading and memory in a new process, where the model came from a file.
    Raises ``UnsupportedError`` for networks with Python functions, which run between sessions of the engine.
    """
    model = loaded(model)
    data = dict(data) if data is not None else samples.sample(model, seed)
    plain, fast, feeds = _graphs(model, data)
    layers = work.layers(model, plain)
    spent, operators = _spent(model, fast, feeds, runs)
    times, hosts = _by_layer(fast, spent)
    wall = _wall(model, data, runs)
    rows = _rows(layers, times, hosts)
    result = Profile(_name(model), rows, statistics.median(wall), min(wall), runs, model.threads, operators)
    path = _path(model)
    if fresh and path is not None:
        result.fresh = measure.fresh(str(path), model.threads, seed)
    if any(node.op in ("Loop", "Scan") for node in plain.walk()):
        result.notes.append("work inside of loops counts the rounds that are known beforehand, time all that were run")
    return result


def _name(model: AnyModel) -> str:
    return model.name if isinstance(model, OnnxModel) else model.document.name


def _path(model: AnyModel) -> Path | None:
    return model.path if isinstance(model, OnnxModel) else model.document.path


def _graphs(model: AnyModel, data: Mapping[str, Any]) -> tuple[Graph, Graph, dict[str, Any]]:
    """The network as its layers are, as it runs, and its feeds."""
    from ..graph import passes

    feeds = dict(model.feeds(data))
    if isinstance(model, OnnxModel):
        from ..graph.read import read

        fixed = _fixed(model, feeds)
        folder = str(model.path.parent) if model.path is not None else ""
        return read(fixed, folder), read(fixed, folder), feeds
    shapes = [array.shape for array in feeds.values()]
    plain, fast = (model.graph(shapes, optimize=False) for _ in range(2))
    passes.optimize(fast)
    return plain, fast, feeds


def _fixed(model: OnnxModel, feeds: Mapping[str, Any]) -> Any:
    """The model with the sizes of these inputs, so that all others follow."""
    import onnx
    from onnx import inliner

    variant = onnx.ModelProto()
    variant.CopyFrom(model.proto)
    for info in variant.graph.input:
        if info.name in feeds:
            del info.type.tensor_type.shape.dim[:]
            for size in feeds[info.name].shape:
                info.type.tensor_type.shape.dim.add(dim_value=size)
    del variant.graph.value_info[:]
    given = {info.name for info in variant.graph.input}
    for info in variant.graph.output:
        if info.name not in given:
            info.type.tensor_type.ClearField("shape")
    return inliner.inline_local_functions(variant) if variant.functions else variant


# -- times -------------------------------------------------------------------------------------------------------------


def _spent(model: AnyModel, graph: Graph, feeds: dict[str, Any], runs: int) -> tuple[dict[str, list[float]], int]:
    """Label of the engine → microseconds in each run, and the number of operators that ran."""
    from ..graph.write import write
    from ..runtime.pieces import has_functions
    from ..runtime.session import Session

    if has_functions(graph):
        raise UnsupportedError("a network with custom layers in Python runs in pieces, which are not profiled")
    try:
        with tempfile.TemporaryDirectory() as folder:
            session = Session(write(graph), threads=model.threads, profile=str(Path(folder) / "run"))
            for _ in range(runs + 1):
                session.run(feeds)
            events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    except PippinError:
        raise
    except (OSError, ValueError) as error:  # where it ends in the middle the engine does not tell
        reason = error.strerror if isinstance(error, OSError) else "the file is not whole; is the disk full?"
        raise WriteError(f"the engine's times cannot be written to a temporary folder: {reason}") from None
    starts = [event["ts"] for event in events if event["cat"] == "Session" and event["name"] == "model_run"]
    nodes = [event for event in events if event["cat"] == "Node" and event["name"].endswith("_kernel_time")]
    found: dict[str, list[float]] = {}
    for event in nodes:
        turn = sum(start <= event["ts"] for start in starts) - 1
        label = event["name"].removesuffix("_kernel_time")
        # the first run warms up
        if turn >= 1:
            found.setdefault(label, [0.0] * runs)[turn - 1] += event["dur"]
    return found, len(found)


def _wall(model: AnyModel, data: Mapping[str, Any], runs: int) -> list[float]:
    """Milliseconds of whole predictions."""
    model.predict(data)
    found = []
    for _ in range(max(runs, 3)):
        begin = time.perf_counter()
        model.predict(data)
        found.append((time.perf_counter() - begin) * 1e3)
    return found


def _by_layer(graph: Graph, spent: Mapping[str, list[float]]) -> tuple[dict[str, float], dict[str, str]]:
    """Place → milliseconds a run, and place without a time of its own → the place in whose operator it runs.

    What a node that holds bodies takes beside them is its own.
    """
    nodes = list(work.walk(graph))
    by_name = {node.name: node for node, *_ in nodes}
    by_value = {value.name: node for node, *_ in nodes for value in node.outputs}
    places = {id(node): place for node, place, *_ in nodes}
    own: dict[int, list[float]] = {}
    result: dict[str, float] = {}
    for label, times in spent.items():
        node = _node(label, by_name, by_value)
        if node is None:
            what = ENGINE if label.startswith(MADE) else FUSED
            result[what] = result.get(what, 0.0) + statistics.median(times) / 1e3
            continue
        known = own.setdefault(id(node), [0.0] * len(times))
        own[id(node)] = [a + b for a, b in zip(known, times, strict=True)]
    for node, *_ in nodes:
        if id(node) in own and any(node.subgraphs()):
            bodies = [own[id(inner)] for body in node.subgraphs() for inner in body.walk() if id(inner) in own]
            held = [sum(column) for column in zip(*bodies, strict=True)] if bodies else [0.0] * len(own[id(node)])
            own[id(node)] = [max(a - b, 0.0) for a, b in zip(own[id(node)], held, strict=True)]
    hosts = _hosts(graph, own)
    guests: dict[int, list[Node]] = {}
    for node, *_ in nodes:
        if id(node) in hosts:
            guests.setdefault(id(hosts[id(node)]), []).append(node)
    inside: dict[str, str] = {}
    for node, *_ in nodes:
        if id(node) not in own:
            continue
        group = [node, *guests.get(id(node), ())]
        place = places[id(max(group, key=flops.flops))]
        result[place] = result.get(place, 0.0) + statistics.median(own[id(node)]) / 1e3
        inside.update({places[id(other)]: place for other in group})
    return result, {guest: host for guest, host in inside.items() if guest not in result}


def _node(label: str, by_name: Mapping[str, Node], by_value: Mapping[str, Node]) -> Node | None:
    """The operator of the graph that a label of the engine is about: by its name, or by the value that it makes."""
    for text in (label, label.removesuffix("_nchwc"), label.removesuffix("_nchwc").removesuffix("_fused")):
        node = by_name.get(text) or by_value.get(text)
        if node is not None:
            return node
    if label.startswith(MADE):
        return None
    for nodes in (by_name, by_value):
        near = [name for name in nodes if _holds(label, name)]
        if near:
            return nodes[max(near, key=len)]
    return None


def _holds(label: str, name: str) -> bool:
    """Whether a label has the name in it, as in "name/MatMulAddFusion": as a whole word, a short one in front."""
    at = label.find(name) if name else -1
    if at < 0 or (at and len(name) <= 3):
        return False
    ends = label[at - 1 : at] + label[at + len(name) : at + len(name) + 1]
    return not any(sign.isalnum() for sign in ends)


def _hosts(graph: Graph, own: Mapping[int, Any]) -> dict[int, Node]:
    """Node without a time → the one with a time in which it runs: what reads it, else what it reads."""
    hosts: dict[int, Node] = {}
    bodies = [graph, *(body for node in graph.walk() for body in node.subgraphs())]
    for body in bodies:
        readers: dict[int, list[Node]] = {}
        for node in body.nodes:
            for value in node.inputs:
                if value is not None:
                    readers.setdefault(id(value), []).append(node)
        for node in reversed(body.nodes):
            if id(node) in own:
                continue
            users = [user for value in node.outputs for user in readers.get(id(value), ())]
            found = {id(host): host for user in users if (host := _host(user, own, hosts)) is not None}
            if len(found) == 1 and len(users) == 1:
                hosts[id(node)] = next(iter(found.values()))
        for node in body.nodes:
            if id(node) in own or id(node) in hosts:
                continue
            for value in node.inputs:
                if value is not None and value.node is not None:
                    host = _host(value.node, own, hosts)
                    if host is not None:
                        hosts[id(node)] = host
                        break
    return hosts


def _host(node: Node, own: Mapping[int, Any], hosts: Mapping[int, Node]) -> Node | None:
    return node if id(node) in own else hosts.get(id(node))


# -- rows --------------------------------------------------------------------------------------------------------------


def _rows(layers: Mapping[str, Layer], times: Mapping[str, float], hosts: Mapping[str, str]) -> list[Row]:
    total = sum(times.values()) or 1.0
    rows = []
    inside = _inside(layers, times, hosts)
    for place, layer in layers.items():
        ms = times.get(place, 0.0)
        own = layer.flops, layer.parameters, layer.bytes
        rows.append(Row(place, layer.kind, layer.depth, ms, ms / total, *own, inside.get(place, "")))
    for place, ms in times.items():
        if place not in layers:
            rows.append(Row(place, "engine" if place in (ENGINE, FUSED) else "other", 0, ms, ms / total, 0, 0, 0))
    return rows


def _inside(layers: Mapping[str, Layer], times: Mapping[str, float], hosts: Mapping[str, str]) -> dict[str, str]:
    """Layers without time → the layer that they were fused into.

    ``hosts`` tells it of those that are operators of the running graph. Others were rewritten away before: what works
    on numbers went into the last layer that it reads, what moves them into one that reads it.
    """
    order = {place: index for index, place in enumerate(layers)}
    found = dict(hosts)
    readers: dict[str, list[str]] = {}
    for place, layer in layers.items():
        for source in layer.before:
            readers.setdefault(source, []).append(place)

    def host(places: Iterable[str]) -> str:
        timed = [name for place in places if (name := place if place in times else found.get(place, ""))]
        return max(timed, key=lambda name: order.get(name, -1), default="")

    for place, layer in layers.items():
        if place not in times and place not in found and layer.flops:
            found[place] = host(layer.before)
    for place, layer in reversed(list(layers.items())):
        if place not in times and not found.get(place) and layer.nodes:
            found[place] = host(readers.get(place, ()))
    return {place: name for place, name in found.items() if name and name in times}


def known(rows: Iterable[Row]) -> list[Row]:
    """Rows with a time, most first."""
    return sorted((row for row in rows if row.ms > 0), key=lambda row: -row.ms)
