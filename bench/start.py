"""From a path to the first answer, and peak memory: ours, ours mapped, and ONNX Runtime on torch's export.

python bench/start.py DIR [--nets a,b] [--rounds N] [--threads N] [--cpu]

Each measurement is a process of its own; packages (numpy, onnx, onnxruntime, protobuf, pippin) are imported before the
clock starts, and a model of one layer is loaded first, so that modules and tables that are read once in a process do
not count (--cold: they do). Figures are the least of the rounds. --cpu: CPU time instead of wall time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from engines import NETWORKS

KINDS = ("ort", "ours", "mapped")


def work(kind: str, folder: Path, name: str, options: argparse.Namespace) -> None:
    """One measurement: seconds to the first answer, and the peak of memory in bytes."""
    import numpy as np
    import onnx  # noqa: F401
    import onnxruntime  # noqa: F401

    from engines import ort, ours

    if kind != "ort":
        import overhead
        import pippin

        if not options.cold:
            pippin.load(overhead.network(), threads=options.threads).predict({"x": np.zeros((1, 16), np.float32)})
    clock = time.process_time if options.cpu else time.perf_counter
    start = clock()
    call = (
        ort(folder, name, options.threads)
        if kind == "ort"
        else ours(folder, name, options.threads, mmap=kind == "mapped")
    )
    call()
    seconds = clock() - start
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    print(json.dumps([seconds, int(status["VmHWM"].split()[0]) * 1024]))


def measured(kind: str, name: str, options: argparse.Namespace, cache: str) -> tuple[float, float]:
    command = [sys.executable, __file__, str(options.folder), "--worker", kind, name, "--threads", str(options.threads)]
    command += ["--cpu"] * options.cpu + ["--cold"] * options.cold
    # compiled modules are kept, as for an installed package
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
    made = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    seconds, peak = json.loads(made.stdout.splitlines()[-1])
    return seconds, peak


def layers(path: Path) -> int:
    from pippin.coreml.read import read

    return len(read(path).network.layers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nets", default=",".join(NETWORKS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options.worker[0], options.folder, options.worker[1], options)
    columns = ["file MB", "layers", *(f"{kind} ms" for kind in KINDS), "ours / ort", "mapped / ort", "allowed ms"]
    columns += [f"{kind} MB" for kind in KINDS] + ["allowed MB", "mapped allowed MB"]
    print(f"| network | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    with tempfile.TemporaryDirectory() as cache:
        for name in options.nets.split(","):
            rounds: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
            for turn in range(options.rounds + 1):
                for kind in KINDS if turn % 2 else KINDS[::-1]:
                    rounds[kind].append(measured(kind, name, options, cache))
            ms = {kind: min(seconds for seconds, _ in values[1:]) * 1e3 for kind, values in rounds.items()}
            mb = {kind: min(peak for _, peak in values[1:]) / 1e6 for kind, values in rounds.items()}
            path = options.folder / f"{name}.mlmodel"
            size, count = path.stat().st_size / 1e6, layers(path)
            cells = [f"{size:.1f}", f"{count}", *(f"{ms[kind]:.0f}" for kind in KINDS)]
            cells += [f"{ms['ours'] / ms['ort']:.2f}", f"{ms['mapped'] / ms['ort']:.2f}"]
            cells += [f"{ms['ort'] + 25 + 0.2 * count:.0f}", *(f"{mb[kind]:.0f}" for kind in KINDS)]
            cells += [f"{mb['ort'] + 1.2 * size + 48:.0f}", f"{mb['ort'] + 0.3 * size + 48:.0f}"]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    return None


if __name__ == "__main__":
    main()
