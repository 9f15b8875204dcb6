"""How much a client may take, and the codes that it gets for more.

=========================  ====================  ==============================================================
limit                      code                  counts
=========================  ====================  ==============================================================
clients_per_user           DEVICE_BUSY           clients of one user at a time; ``connections_per_process`` likewise
requests                   DEVICE_BUSY           connections of a client, each with at most one request in flight
queue                      DEVICE_BUSY           runs of all clients that wait for a device
models, model_bytes        OUT_OF_MEMORY         prepared models, and the bytes of their constants
descriptors, shared_bytes  OUT_OF_MEMORY         memory that the client attached, and what of it is mapped
answer_bytes               OUT_OF_MEMORY         what the outputs of one run take
run_bytes                  OUT_OF_MEMORY         what one run is expected to need, by the dims of its values
run_seconds                TIME_OUT              waiting and computing
stall_seconds              (connection closed)   from the first byte of a frame to its last, either way
frame_bytes                (connection closed)   the body of a frame
=========================  ====================  ==============================================================
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from ..enums import ReturnCode
from ..errors import NnrtError
from .protocol import MAX_FRAME


@dataclass(frozen=True)
class Limits:
    """What one client may take, and the whole service; see the table above."""

    connections: int = 512
    connections_per_process: int = 64
    clients_per_user: int = 64
    requests: int = 16
    queue: int = 256
    models: int = 64
    model_bytes: int = 2 << 30
    descriptors: int = 512
    shared_bytes: int = 2 << 30
    answer_bytes: int = 1 << 30
    run_bytes: int = 2 << 30
    run_seconds: float = 60.0
    stall_seconds: float = 10.0
    frame_bytes: int = MAX_FRAME


class Budget:
    """So many of something; safe for threads."""

    def __init__(self, limit: int, what: str, code: ReturnCode = ReturnCode.OUT_OF_MEMORY) -> None:
        self.limit = limit
        self.used = 0
        self._what = what
        self._code = code
        self._lock = threading.RLock()  # memory is given back by finalizers, which may run anywhere

    def take(self, amount: int = 1) -> None:
        """Takes some.  NnrtError if there is not enough left."""
        with self._lock:
            if self.used + amount > self.limit:
                raise NnrtError(
                    self._code, f"a client may have {self.limit} {self._what}: it has {self.used}, wants {amount} more"
                )
            self.used += amount

    def give(self, amount: int = 1) -> None:
        """Gives some back."""
        with self._lock:
            self.used -= amount
