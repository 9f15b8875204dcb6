"""Ctrl-C stops a running network at once.

The engine does not look at signals: without this, Ctrl-C waits for the end of the run, and a network that never ends
never stops. A watcher thread sleeps on the pipe that Python writes each signal to, and tells the engine to stop; Python
then raises ``KeyboardInterrupt`` as usual. A run costs nothing for it.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from typing import Any

_lock = threading.Lock()
_options: Any = None
_tried = False


def run_options() -> Any:
    """The ``RunOptions`` for a run in the main thread, which Ctrl-C terminates; None in other threads."""
    if _options is not None:
        if threading.get_ident() != threading.main_thread().ident:
            return None
        _options.terminate = False  # it may be left from a run that was stopped
        return _options
    return None if _tried or threading.current_thread() is not threading.main_thread() else _install()


def _install() -> Any:
    """Starts the watcher, unless somebody else handles Ctrl-C or reads the pipe of signals already."""
    global _options, _tried
    with _lock:
        _tried = True
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return None
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        with suppress(ValueError):
            before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
            if before != -1:
                signal.set_wakeup_fd(before)
            else:
                import onnxruntime as ort

                options = ort.RunOptions()
                threading.Thread(target=_watch, args=(reader, options), name="pippin-ctrl-c", daemon=True).start()
                _options = options
                return options
        os.close(reader)
        os.close(writer)
        return None


def _watch(reader: int, options: Any) -> None:
    while True:
        for number in os.read(reader, 64):
            if number == signal.SIGINT:
                options.terminate = True
