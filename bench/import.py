"""What ``import pippin`` costs over bare Python, what it imports, and how long ``pippin run`` of the example takes.

python bench/import.py [--rounds N]

Each measurement is a process of its own; figures are the least of the rounds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("numpy", "onnx", "onnxruntime", "google.protobuf")
EXAMPLE = ["run", "examples/digits.mlmodel", "image=examples/digit-7.png"]


def seconds(command: list[str], rounds: int, environment: dict[str, str]) -> float:
    """The least time of a process, after one that fills the caches."""
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=environment)
        times.append(time.perf_counter() - start)
    return min(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as cache:
        # compiled modules are kept, as for an installed package
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
        bare = seconds([sys.executable, "-c", "pass"], rounds, environment)
        ours = seconds([sys.executable, "-c", "import pippin"], rounds, environment)
        code = f"import pippin, sys; print(*[name for name in {HEAVY} if name in sys.modules])"
        loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
        example = seconds([sys.executable, "-m", "pippin", *EXAMPLE], rounds, environment)
    print(f"import pippin: {(ours - bare) * 1e3:.0f} ms over bare Python ({bare * 1e3:.0f} ms)")
    print(f"heavy modules imported with it: {', '.join(loaded) or 'none'}")
    print(f"pippin {' '.join(EXAMPLE)}: {example:.2f} s")


if __name__ == "__main__":
    main()
