"""Counts the nodes of networks that went to Core ML and back, beside the originals, after ONNX Runtime's own optimiser.

usage: python bench/export_nodes.py FOLDER

FOLDER holds pairs NAME.mlmodel (made from the original by some converter) and NAME.onnx (exported from the original).
Prints a table; exits with 1 if a network has more than 1.1 times the original's nodes.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

import pippin

LIMIT = 1.1


def optimised(path: Path, folder: Path) -> int:
    """Nodes that are left of a model when the engine has rewritten it (its layouts for this very processor aside)."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / "optimised.onnx")
    ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return sum(1 for _ in _walk(onnx.load(folder / "optimised.onnx", load_external_data=False).graph))


def _walk(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _walk(attribute.g)


def distance(ours: Path, original: Path) -> float:
    """The largest difference of the two on one input, as a share of the largest value."""
    sessions = [ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]) for path in (ours, original)]
    generator = np.random.default_rng(0)
    x = generator.standard_normal([int(d) for d in sessions[0].get_inputs()[0].shape]).astype(np.float32)
    a, b = (s.run(None, {s.get_inputs()[0].name: x})[0] for s in sessions)
    return float(np.abs(a.reshape(-1) - b.reshape(-1)).max() / np.abs(b).max())


def main() -> int:
    folder = Path(sys.argv[1])
    bad = 0
    print(f"{'network':20} {'original':>8} {'pippin':>8} {'ratio':>6} {'apart':>8}")
    for path in sorted(folder.glob("*.mlmodel")):
        original = path.with_suffix(".onnx")
        if not original.exists():
            continue
        with tempfile.TemporaryDirectory() as name:
            target = Path(name) / "ours.onnx"
            pippin.to_onnx(path, target, verify="none")
            counts = optimised(original, Path(name)), optimised(target, Path(name))
            apart = distance(target, original)
        ratio = counts[1] / counts[0]
        bad += ratio > LIMIT
        print(f"{path.stem:20} {counts[0]:8} {counts[1]:8} {ratio:6.2f} {apart:8.1e}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
