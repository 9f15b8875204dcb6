"""What the service counts, as text in the form that Prometheus reads."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
"""Upper ends in seconds of what a request may take."""
PREFIX = "pippin_nnrt_"
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Counters, histograms, and gauges that are asked for when somebody reads; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: dict[str, dict[Labels, float]] = {}
        self._histograms: dict[str, dict[Labels, list[float]]] = {}
        self._gauges: dict[str, Callable[[], float]] = {}
        self._help: dict[str, str] = {}

    def counter(self, name: str, text: str) -> None:
        """Declares a counter, 0 at first."""
        self._help[name], self._counters[name] = text, {}

    def histogram(self, name: str, text: str) -> None:
        """Declares a histogram of seconds."""
        self._help[name], self._histograms[name] = text, {}

    def gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Declares a number that is asked for."""
        self._help[name], self._gauges[name] = text, value

    def count(self, name: str, labels: Labels = (), amount: float = 1) -> None:
        """Adds to a counter."""
        with self._lock:
            row = self._counters[name]
            row[labels] = row.get(labels, 0) + amount

    def observe(self, name: str, seconds: float, labels: Labels = ()) -> None:
        """Adds an observation to a histogram."""
        place = bisect_left(BUCKETS, seconds)
        with self._lock:
            row = self._histograms[name].get(labels)
            if row is None:
                row = self._histograms[name][labels] = [0.0] * (len(BUCKETS) + 2)
            row[place] += 1
            row[-1] += seconds

    def value(self, name: str, labels: Labels | None = None) -> float:
        """A counter: of these labels, or of all together."""
        with self._lock:
            row = self._counters[name]
            return sum(row.values()) if labels is None else row.get(labels, 0)

    def text(self) -> str:
        """Everything in Prometheus' text form."""
        lines: list[str] = []
        with self._lock:
            for name, counts in self._counters.items():
                lines += self._head(name, "counter")
                lines += [f"{_series(name, labels)} {value:g}" for labels, value in sorted(counts.items())]
                if not counts:
                    lines.append(f"{PREFIX}{name} 0")
            for name, rows in self._histograms.items():
                lines += self._head(name, "histogram")
                for labels, row in sorted(rows.items()):
                    lines += _buckets(name, labels, row)
        for name, value in self._gauges.items():
            lines += [*self._head(name, "gauge"), f"{PREFIX}{name} {value():g}"]
        return "\n".join(lines) + "\n"

    def _head(self, name: str, kind: str) -> list[str]:
        return [f"# HELP {PREFIX}{name} {self._help[name]}", f"# TYPE {PREFIX}{name} {kind}"]


def _buckets(name: str, labels: Labels, row: list[float]) -> list[str]:
    lines, total = [], 0.0
    for edge, count in zip((*BUCKETS, float("inf")), row[:-1], strict=True):
        total += count
        shown = "+Inf" if edge == float("inf") else f"{edge:g}"
        lines.append(f"{_series(f'{name}_bucket', (*labels, ('le', shown)))} {total:g}")
    lines.append(f"{_series(f'{name}_sum', labels)} {row[-1]:.9g}")
    lines.append(f"{_series(f'{name}_count', labels)} {total:g}")
    return lines


def _series(name: str, labels: Labels) -> str:
    if not labels:
        return f"{PREFIX}{name}"
    inner = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels)
    return f"{PREFIX}{name}{{{inner}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def serve_metrics(metrics: Metrics, port: int) -> tuple[int, Callable[[], None]]:
    """Answers GET /metrics on this machine's own address; returns the port and a function that ends it."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            body = metrics.text().encode() if self.path.split("?")[0] == "/metrics" else b"see /metrics\n"
            self.send_response(200 if self.path.split("?")[0] == "/metrics" else 404)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="pippin-metrics", daemon=True).start()

    def stop() -> None:
        server.shutdown()
        server.server_close()

    return server.server_address[1], stop
