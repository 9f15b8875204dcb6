"""Latency of a prediction, beside what else could run the network.

python bench/latency.py DIR                         ours and ONNX Runtime on torch's export, taking turns in one process
python bench/latency.py DIR --apart ours ort mnn    a process for each engine, taking turns
    --python ENGINE=PATH   another interpreter for an engine (it needs numpy and the engine)
    --models FILE ...      Core ML files with one input: the others run our export of them
    --nets a,b  --threads N  --rounds N  --restarts N
    --cpu                  CPU time on one thread: steady on a machine that others use too

DIR is what ``bench/nets.py`` made. A picture is turned into planes within the measured time, by every engine's user.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engines import ENGINES, NETWORKS, export, ort

Times = dict[str, float]
"""Seconds by engine."""
REST = 0.05
"""Seconds between turns of processes: some engines spin on for a while, and would take a core of the next."""


def measured(call: Callable[[], Any], count: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(count):
        call()
    return (clock() - start) / count


def calls_a_turn(call: Callable[[], Any]) -> int:
    """As many as take about 30 ms."""
    call()
    start = time.perf_counter()
    call()
    return max(1, int(0.03 / (time.perf_counter() - start)))


def error(answer: Any, wanted: Any) -> float:
    """The largest difference relative to the largest value."""
    return float(np.abs(np.asarray(answer).reshape(wanted.shape) - wanted).max() / max(np.abs(wanted).max(), 1e-9))


def together(folder: Path, name: str, options: argparse.Namespace) -> Times:
    """Both engines in this process, in turns; who begins changes.

    The threads of both wait alike: those of the engine's default go on spinning into the other's turn, and cost it a
    core.
    """
    from pippin.runtime.session import WAITING

    clock = time.process_time if options.cpu else time.perf_counter
    calls = {
        "ort": ort(folder, name, options.threads, WAITING),
        "ours": ENGINES["ours"](folder, name, options.threads),
    }
    wanted = np.load(folder / f"{name}.npz")["y"]
    for engine, call in calls.items():
        warn(name, engine, error(call(), wanted))
    count = calls_a_turn(calls["ort"])
    times: dict[str, list[float]] = {engine: [] for engine in calls}
    for turn in range(options.rounds):
        for engine in sorted(calls, reverse=bool(turn % 2)):
            calls[engine]()
            times[engine].append(measured(calls[engine], count, clock))
    return {engine: low(values) for engine, values in times.items()}


def low(values: list[float]) -> float:
    """The 20th percentile: whatever disturbs a measurement makes it longer."""
    return sorted(values)[len(values) // 5]


def apart(folder: Path, name: str, options: argparse.Namespace) -> Times:
    """A process for each engine, in turns, so that no pool of threads gets into another's way.

    One process differs from the next by several per cent (where its memory lies, which cores it got): the figure is
    the median over ``--restarts``.
    """
    found: dict[str, list[float]] = {engine: [] for engine in options.apart}
    for _ in range(options.restarts):
        for engine, seconds in processes(folder, name, options).items():
            found[engine].append(seconds)
    return {engine: statistics.median(values) for engine, values in found.items() if values}


def processes(folder: Path, name: str, options: argparse.Namespace) -> Times:
    """One process for each engine, in turns."""
    pythons = dict(entry.split("=", 1) for entry in options.python)
    workers = {}
    for engine in options.apart:
        command = [pythons.get(engine, sys.executable), __file__, str(folder), "--worker", engine, name]
        command += ["--threads", str(options.threads), *(["--cpu"] if options.cpu else [])]
        worker = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        first = answer(worker)
        if first is None:
            print(f"{name}: {engine} failed", file=sys.stderr)
            continue
        warn(name, engine, first)
        workers[engine] = worker
    times: dict[str, list[float]] = {engine: [] for engine in workers}
    for turn in range(options.rounds):
        for engine in sorted(workers, reverse=bool(turn % 2)):
            stdin = workers[engine].stdin
            assert stdin is not None
            stdin.write("\n")
            stdin.flush()
            times[engine].append(answer(workers[engine]))
            time.sleep(REST)
    for worker in workers.values():
        worker.communicate()
    return {engine: low(values) for engine, values in times.items()}


def answer(worker: subprocess.Popen[str]) -> Any:
    """The next line of a worker that is a number; engines print other things too."""
    assert worker.stdout is not None
    for line in worker.stdout:
        if line.startswith("="):
            return json.loads(line[1:])
    return None


def work(folder: Path, engine: str, name: str, options: argparse.Namespace) -> None:
    """What a worker does: a measurement for each line that it reads."""
    clock = time.process_time if options.cpu else time.perf_counter
    call = ENGINES[engine](folder, name, options.threads)
    print(f"={error(call(), np.load(folder / f'{name}.npz')['y'])}", flush=True)
    count = calls_a_turn(call)
    for _ in sys.stdin:
        call()
        print(f"={measured(call, count, clock)}", flush=True)


def warn(name: str, engine: str, difference: float) -> None:
    if difference > 1e-3:
        print(f"{name}: the answer of {engine} is off by {difference:.1e}", file=sys.stderr)


def table(results: dict[str, Times]) -> None:
    engines = list(dict.fromkeys(engine for times in results.values() for engine in times))
    mine = "ours" if "ours" in engines else engines[0]
    peers = [engine for engine in engines if engine != mine]
    heads = [f"{engine} ms" for engine in engines] + [f"{mine} / {peer}" for peer in peers]
    heads += [f"{mine} / best"] if len(peers) > 1 else []
    print(f"| network | {' | '.join(heads)} |\n|---|{'---:|' * len(heads)}")
    ratios: dict[str, list[float]] = {}
    for name, times in results.items():
        cells = [f"{times[engine] * 1e3:.2f}" if engine in times else "-" for engine in engines]
        against = {peer: times[peer] for peer in peers if peer in times}
        if len(peers) > 1 and against:
            against["best"] = min(against.values())
        for head in [*peers, *(["best"] if len(peers) > 1 else [])]:
            if head in against and mine in times:
                ratios.setdefault(head, []).append(times[mine] / against[head])
                cells.append(f"{ratios[head][-1]:.3f}")
            else:
                cells.append("-")
        print(f"| {name} | {' | '.join(cells)} |")
    for head, values in ratios.items():
        mean = math.exp(sum(map(math.log, values)) / len(values))
        print(f"\n{mine} / {head}: geometric mean {mean:.3f}, worst {max(values):.3f}", end="")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--apart", nargs="+", choices=ENGINES, metavar="ENGINE")
    parser.add_argument("--python", action="append", default=[], metavar="ENGINE=PATH")
    parser.add_argument("--models", nargs="+", type=Path, default=[], metavar="FILE")
    parser.add_argument("--nets", default=",".join(NETWORKS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--restarts", type=int, default=3)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cpu:
        options.threads = 1
    if options.worker:
        return work(options.folder, *options.worker, options)
    measure = apart if options.apart else together
    with tempfile.TemporaryDirectory() as extra:
        networks = [(options.folder, name) for name in options.nets.split(",") if name]
        networks += [(Path(extra), export(path, Path(extra))) for path in options.models]
        results = {}
        for folder, name in networks:
            results[name] = measure(folder, name, options)
            print(f"{name} done", file=sys.stderr, flush=True)
    table(results)
    return None


if __name__ == "__main__":
    main()
