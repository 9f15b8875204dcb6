"""Measures a model in a process of its own: ``python -m pippin.analysis.measure MODEL THREADS SEED``.

Prints JSON: seconds to import, to load, to the first answer, and megabytes that the process takes after each.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def fresh(path: str, threads: int | None, seed: int) -> dict[str, float]:
    """The measurements of a new process, empty if it fails."""
    words = [sys.executable, "-m", "pippin.analysis.measure", path, str(threads or 0), str(seed)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    try:
        result: dict[str, float] = json.loads(done.stdout)
    except ValueError:
        return {}
    return result


def resident() -> float:
    """Megabytes of memory that this process takes now; its peak where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        import resource

        return pages * resource.getpagesize() / 1e6
    except OSError:
        return peak()


def peak() -> float:
    """Megabytes of memory that this process took at most; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1e6 if sys.platform == "darwin" else most / 1e3


def main() -> None:
    path, threads, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    begin = time.perf_counter()
    import numpy as np
    import onnx  # noqa: F401
    import onnxruntime  # noqa: F401

    from pippin.analysis import samples
    from pippin.loading import load

    np.zeros(1)
    imported = time.perf_counter()
    before = resident()
    model: Any = load(path, threads=threads or None)
    loaded = time.perf_counter()
    held = resident()
    data = samples.sample(model, seed)
    ready = time.perf_counter()
    model.predict(data)
    answered = time.perf_counter()
    print(
        json.dumps(
            {
                "import": imported - begin,
                "load": loaded - imported,
                "first": answered - ready,
                "mb_before": before,
                "mb_loaded": held,
                "mb_answered": resident(),
                "mb_peak": peak(),
            }
        )
    )


if __name__ == "__main__":
    main()
