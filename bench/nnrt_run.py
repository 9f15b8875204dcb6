"""What a run through the NNRt interface costs beyond the bare engine, and whether descriptors and memory stay flat.

``python bench/nnrt_run.py``        cost of Run, same graph, same bound buffers, one run after another
``python bench/nnrt_run.py soak``   100,000 runs and 1,000 prepare/release rounds
"""

from __future__ import annotations

import gc
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np

from nnrt_models import add_model, io_tensor, out_tensor
from pippin.nnrt.device import Device
from pippin.nnrt.hdi import INnrtDevice, IPreparedModel
from pippin.nnrt.types import ModelConfig

ROUNDS, REPEATS = 5000, 7


def best(function: Any, *arguments: Any) -> float:
    """Microseconds of the fastest repeat."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(ROUNDS):
            function(*arguments)
        times.append((time.perf_counter() - start) / ROUNDS * 1e6)
    return min(times)


def cost() -> None:
    x = np.ones((3, 2, 2), np.float32)
    prepared = Device().prepare(add_model())
    inputs, outputs = [io_tensor(x), io_tensor(x)], [out_tensor((3, 2, 2))]
    prepared.run(inputs, outputs)
    session = prepared._session
    binding = session.binding()
    for port, tensor, bind in (
        (prepared.inputs[0], inputs[0], binding.bind_input),
        (prepared.inputs[1], inputs[1], binding.bind_input),
        (prepared.outputs[0], outputs[0], binding.bind_output),
    ):
        bind(port.key, "cpu", 0, np.float32, port.dims, tensor.data.owner.array.ctypes.data)
    bare = best(session._session.run_with_iobinding, binding)
    full = best(IPreparedModel(prepared).Run, inputs, outputs)
    print(f"bare session, bound buffers  {bare:6.1f} us")
    print(f"Run                          {full:6.1f} us   ({full - bare:+.1f})")


def state() -> str:
    descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    return f"{descriptors} descriptors, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.1f} MB at most"


def soak() -> None:
    device = INnrtDevice()
    x = np.ones((3, 2, 2), np.float32)
    model = device.PrepareModel(add_model(), ModelConfig())[1]
    assert model is not None
    inputs, outputs = [io_tensor(x), io_tensor(x)], [out_tensor((3, 2, 2))]
    for _ in range(100):
        model.Run(inputs, outputs)
    print("before       ", state())
    for _ in range(100_000):
        model.Run(inputs, outputs)
    print("100,000 runs ", state())
    for round_ in range(1000):
        other = device.PrepareModel(add_model(), ModelConfig())[1]
        assert other is not None
        other.Run(inputs, outputs)
        if round_ == 99:
            gc.collect()
            print("100 rounds   ", state())
    gc.collect()
    print("1,000 rounds ", state())


if __name__ == "__main__":
    soak() if sys.argv[1:] == ["soak"] else cost()
