"""What it costs to run a model in another process, and how the service behaves when it has more work than cores.

``python bench/nnrt_service.py``            a run in process, through the service, by HTTP with JSON, by gRPC with bytes
``python bench/nnrt_service.py saturate``   eight clients, each answer checked (``--seconds 60``)
``python bench/nnrt_service.py priority``   four clients of high and four of low priority

Needs grpcio for gRPC; without it that line is left out.  Clients and servers are processes of their own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pippin import nnrt
from pippin.nnrt.buffers import Region
from pippin.nnrt.enums import DataType, Format, Priority
from pippin.nnrt.types import IOTensor, Model, ModelConfig, byte_size, numpy_type

TINY, LARGE = 4, 3_000_000
"""Elements of float32: 16 bytes and 12 MB."""


def take(size: int) -> Model:
    """The first four of ``size`` numbers: what is measured is the way, not the work."""
    g = nnrt.GraphBuilder("take")
    x = g.input("x", [size])
    return g.finish(g.SliceFusion(x, np.array([0], np.int32), np.array([4], np.int32), axes=[0]))


def work(size: int, rounds: int) -> Model:
    """x W W W …: three products are some hundred microseconds of work, a hundred some ten milliseconds."""
    g = nnrt.GraphBuilder("work")
    x = g.input("x", [size, size])
    weights = g.constant(np.full((size, size), 1 / size, np.float32))
    for _ in range(rounds):
        x = g.MatMulFusion(x, weights)
    return g.finish(x)


def tensor(dims: list[int], dtype: DataType = DataType.FLOAT32) -> IOTensor:
    return IOTensor("", dtype, dims, Format.NHWC, Region(byte_size(dtype, dims)).buffer())


def view(value: IOTensor) -> Any:
    return value.data.owner.array.view(numpy_type(value.dataType)).reshape(value.dimensions)


@contextmanager
def service() -> Iterator[str]:
    """The service in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/s"
        command = [sys.executable, "-m", "pippin", "nnrt", "serve", "--socket", path]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as running:
            while not Path(path).exists():
                time.sleep(0.02)
            time.sleep(0.2)
            yield path
            running.terminate()


# -- other ways --------------------------------------------------------------------------------------------------------


def http_server(size: int, port: Any) -> None:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    prepared = nnrt.devices()[0].prepare(take(size))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            (answer,) = prepared.predict({"x": given["x"]}).values()
            body = json.dumps({"y": answer.tolist()}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port.put(server.server_address[1])
    server.serve_forever()


def http_client(port: int, size: int) -> Callable[[], None]:
    from http.client import HTTPConnection

    connection = HTTPConnection("127.0.0.1", port)
    x = np.arange(size, dtype=np.float32)

    def run() -> None:
        connection.request("POST", "/", json.dumps({"x": x.tolist()}))
        assert json.loads(connection.getresponse().read())["y"] == [0, 1, 2, 3]

    return run


def grpc_server(size: int, address: str, ready: Any) -> None:
    from concurrent import futures

    import grpc

    prepared = nnrt.devices()[0].prepare(take(size))

    def answer(request: bytes, context: Any) -> bytes:
        (result,) = prepared.predict([np.frombuffer(request, np.float32)]).values()
        return result.tobytes()

    server = grpc.server(futures.ThreadPoolExecutor(4), options=[("grpc.max_receive_message_length", -1)])
    handler = grpc.method_handlers_generic_handler("bench", {"run": grpc.unary_unary_rpc_method_handler(answer)})
    server.add_generic_rpc_handlers((handler,))
    server.add_insecure_port(address)
    server.start()
    ready.put(1)
    server.wait_for_termination()


def grpc_client(address: str, size: int) -> Callable[[], None]:
    import grpc

    channel = grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", -1)])
    call = channel.unary_unary("/bench/run")
    x = np.arange(size, dtype=np.float32)
    wanted = x[:4].tobytes()

    def run() -> None:
        assert call(x.tobytes()) == wanted

    return run


# -- overhead ----------------------------------------------------------------------------------------------------------


def runner(device: Any, size: int) -> Callable[[], None]:
    prepared = device.prepare(take(size))
    x, y = tensor([size]), tensor([4])
    view(x)[:] = np.arange(size)
    prepared.run([x], [y])
    assert view(y).tolist() == [0, 1, 2, 3]
    return lambda: prepared.run([x], [y])


def overhead(repeats: int) -> None:
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    context = multiprocessing.get_context("spawn")
    for size, name in ((TINY, "tiny"), (LARGE, "12 MB")):
        queue, ready = context.Queue(), context.Queue()
        servers = [context.Process(target=http_server, args=(size, queue), daemon=True)]
        address = f"unix:/tmp/pippin-bench-{os.getpid()}"
        try:
            import grpc  # noqa: F401

            servers.append(context.Process(target=grpc_server, args=(size, address, ready), daemon=True))
        except ImportError:
            pass
        with service() as path:
            for server in servers:
                server.start()
            ways = {"in process": runner(nnrt.devices()[0], size), "service": runner(nnrt.connect(path), size)}
            ways["HTTP, JSON"] = http_client(queue.get(), size)
            if len(servers) == 2:
                ready.get()
                ways["gRPC, bytes"] = grpc_client(address, size)
            show(name, measure(ways, repeats, slow=size == LARGE))
        for server in servers:
            server.terminate()


def measure(ways: dict[str, Callable[[], None]], repeats: int, *, slow: bool) -> dict[str, list[float]]:
    """Microseconds of each run, the ways in turns so that the machine's moods hit all of them."""
    times: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(20):
        for way, run in ways.items():
            count = max(1, repeats // 20)
            if slow and way not in ("in process", "service"):
                count = 1 if way == "HTTP, JSON" and turn % 5 == 0 else int(way != "HTTP, JSON") * 5
            for _ in range(count):
                start = time.perf_counter()
                run()
                times[way].append((time.perf_counter() - start) * 1e6)
    return times


def show(name: str, times: dict[str, list[float]]) -> None:
    base = float(np.median(times["in process"]))
    print(f"{name:<12} {'p50 us':>12} {'p99 us':>12} {'over in process':>16}")
    for way, values in times.items():
        p50, p99 = np.percentile(values, [50, 99])
        print(f"{way:<12} {p50:12.1f} {p99:12.1f} {p50 - base:+16.1f}")
    print()


# -- more work than cores ----------------------------------------------------------------------------------------------


def client(path: str, seed: int, priority: Priority, seconds: float, rounds: int, results: Any) -> None:
    """Runs until the time is over; every question is a number of its own, and its answer must be that number."""
    size = 160
    prepared = nnrt.connect(path).prepare(work(size, rounds), ModelConfig(priority=priority))
    x, y = tensor([size, size]), tensor([size, size])
    times, wrong, number = [], 0, 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        number += 1
        question = float(seed * 1_000_000 + number % 1_000_000)
        view(x)[:] = question
        view(y)[:] = -1
        start = time.perf_counter()
        prepared.run([x], [y])
        times.append(time.perf_counter() - start)
        wrong += not np.allclose(view(y), question, rtol=1e-4)
    results.put((priority, times, wrong))


def crowd(priorities: list[Priority], seconds: float, rounds: int) -> list[tuple[Priority, list[float], int]]:
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    with service() as path:
        clients = [
            context.Process(target=client, args=(path, seed, priority, seconds, rounds, results))
            for seed, priority in enumerate(priorities, 1)
        ]
        for process in clients:
            process.start()
        found = [results.get(timeout=seconds + 120) for _ in clients]
        for process in clients:
            process.join()
    return found


def report(found: list[tuple[Priority, list[float], int]], seconds: float) -> None:
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print(f"{'priority':<10} {'clients':>8} {'answers':>9} {'wrong':>6} {'a second':>9} {'p50 ms':>8} {'p99 ms':>8}")
    for priority in sorted({row[0] for row in found}, reverse=True):
        rows = [row for row in found if row[0] == priority]
        times = np.concatenate([row[1] for row in rows])
        p50, p99 = np.percentile(times, [50, 99]) * 1e3
        wrong = sum(row[2] for row in rows)
        name = Priority(priority).name
        print(f"{name:<10} {len(rows):8} {len(times):9} {wrong:6} {len(times) / seconds:9.0f} {p50:8.2f} {p99:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", nargs="?", default="overhead", choices=["overhead", "saturate", "priority"])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--repeats", type=int, default=4000)
    options = parser.parse_args()
    if options.what == "overhead":
        overhead(options.repeats)
    else:
        half = [Priority.HIGH] * 4 + [Priority.LOW] * 4
        priorities, rounds = ([Priority.NONE] * 8, 3) if options.what == "saturate" else (half, 100)
        report(crowd(priorities, options.seconds, rounds), options.seconds)


if __name__ == "__main__":
    main()
