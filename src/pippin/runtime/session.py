"""One ONNX Runtime session: how it is made, run, stopped, and how its errors become ours."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import PippinError, RunError, TimeoutError
from . import interrupt
from .backing import FOLDER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..graph.write import Written
    from .backing import Backing

log = logging.getLogger("pippin")

SLOWER = ("SkipLayerNormFusion",)
"""Optimisers of the engine that make networks slower: the fused kernel takes six times as long as what it fuses (170
against 27 microseconds for 128 rows of 256), since it alone is not vectorised."""
WAITING = {"session.intra_op.spin_duration_us": "200"}
"""Options of a session whose threads soon stop waiting busily, so that several sessions do not fight for cores. A short
time is better than none: the next run, or the next operator, finds them awake."""
SPINNING = {"session.intra_op.spin_duration_us": "-1", "session.force_spinning_stop": "0"}
"""Options of a session whose threads go on waiting busily for long, as the engine's default is."""
LOG_SEVERITY = 4
"""Fatal only: what the engine prints about an error, our error says."""


class Session:
    """A compiled graph.

    ``run(feeds)`` takes a dict of arrays by input name and answers a list in the order of ``outputs``.
    Safe to call from several threads.
    """

    def __init__(
        self,
        written: Written,
        *,
        threads: int | None = None,
        providers: Sequence[Any] = ("CPUExecutionProvider",),
        optimize: bool = True,
        options: dict[str, str] | None = None,
        backing: Backing | None = None,
        profile: str | None = None,
    ) -> None:
        """``backing``: the file in which some of the weights lie, from which the engine may read them itself.

        ``profile``: the beginning of the path of a file in which the engine notes the time of every operator.
        """
        self.where = written.where

        def settings() -> Any:
            return self._settings(threads, optimize, options or {}, profile)

        session = _from_file(written, settings(), providers, backing) if backing and optimize else None
        self._session: Any = session or _create(written, settings(), providers)
        self.inputs: list[str] = [value.name for value in self._session.get_inputs()]
        self.outputs: list[str] = [value.name for value in self._session.get_outputs()]
        self._native = self._session._sess
        self._run: Callable[..., Any] = self._native.run

    @staticmethod
    def _settings(threads: int | None, optimize: bool, options: dict[str, str], profile: str | None) -> Any:
        import onnxruntime as ort

        settings = ort.SessionOptions()
        settings.log_severity_level = LOG_SEVERITY
        for key, value in (WAITING | options).items():
            settings.add_session_config_entry(key, value)
        if profile is not None:
            settings.enable_profiling = True
            settings.profile_file_prefix = profile
        if threads is not None:
            settings.intra_op_num_threads = threads
        if not optimize:
            settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        return settings

    def run(self, feeds: dict[str, NDArray[Any]], *, timeout: float | None = None, options: Any = None) -> list[Any]:
        """Runs once; ``timeout`` in seconds. Raises ``RunError`` with the place in the model, or ``TimeoutError``."""
        try:
            if timeout is None:
                result: list[Any] = self._run(self.outputs, feeds, options or interrupt.run_options())
                return result
            return self._limited(feeds, timeout, options or interrupt.run_options())
        except PippinError:
            raise
        except Exception as error:
            raise translate(error, self.where, "the network failed") from None

    def end_profiling(self) -> str:
        """The path of what the engine wrote down since the start, under the prefix ``profile``; it stops doing so."""
        path: str = self._session.end_profiling()
        return path

    def binding(self) -> Any:
        """A new IOBinding: inputs and outputs that stay at their place from run to run."""
        return self._session.io_binding()

    def run_bound(self, binding: Any, options: Any = None) -> None:
        """Runs once on what ``binding`` binds; errors as ``run``'s."""
        try:
            self._native.run_with_iobinding(binding._iobinding, options)
        except Exception as error:
            raise translate(error, self.where, "the network failed") from None

    def _limited(self, feeds: dict[str, NDArray[Any]], timeout: float, options: Any) -> list[Any]:
        import onnxruntime as ort

        options = options or ort.RunOptions()
        expired = threading.Event()

        def stop() -> None:
            expired.set()
            options.terminate = True

        timer = threading.Timer(timeout, stop)
        timer.daemon = True
        timer.start()
        try:
            result: list[Any] = self._run(self.outputs, feeds, options)
            return result
        except Exception:
            if expired.is_set():
                raise TimeoutError(f"the network did not answer within {timeout:g} s") from None
            raise
        finally:
            timer.cancel()


def _create(written: Written, settings: Any, providers: Sequence[Any], placed: Collection[str] = ()) -> Any:
    """A session; the weights are handed over, but for those ``placed`` in a file."""
    import numpy as np
    import onnxruntime as ort

    # the engine copies them while the session is made: they need not live longer
    arrays = {name: np.ascontiguousarray(array) for name, array in written.weights.items() if name not in placed}
    if arrays:
        values = [ort.OrtValue.ortvalue_from_numpy(array) for array in arrays.values()]
        settings.add_external_initializers(list(arrays), values)
    try:
        return ort.InferenceSession(
            written.model.SerializeToString(),
            settings,
            providers=list(providers),
            disabled_optimizers=list(SLOWER),
        )
    except Exception as error:
        raise translate(error, written.where, "the network cannot be prepared") from None


def _from_file(written: Written, settings: Any, providers: Sequence[Any], backing: Backing) -> Any:
    """A session with weights that the engine read from the file; None where that is not safe or of no use."""
    if not backing.usable:
        return None
    placed = backing.place(written)
    if not placed:
        return None
    settings.add_session_config_entry(FOLDER, backing.folder)
    before = backing.mappings()
    try:
        session = _create(written, settings, providers, placed)
    except RunError as error:
        log.debug("the engine cannot read the weights from %s: %s", backing.path, error)
        session = None
    if session is not None and backing.usable and (backing.mapped or not backing.mappings() - before):
        return session
    log.debug("weights are handed over after all: %s", backing.path)
    backing.withdraw(written, placed)
    return None


_NODE = re.compile(r"(?:Node|node)\s*[:(]?\s*\(?['\"]?([^'\")\s][^'\")]*)['\"]?\)?")


def translate(error: Exception, where: dict[str, str], what: str) -> RunError:
    """An error of the engine as ours: the layer it names, and its last sentence without source paths."""
    text = str(error)
    place = ""
    with suppress(ValueError):
        place = where[max((name for name in where if name and name in text), key=len)]
    reason = re.sub(r"\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)
    reason = re.sub(r"/\S+\.(?:cc|h)(?::\d+)?\s*(?:\S+\s*)?", "", reason).strip()
    return RunError(f"{what}: {reason[:500]}", where=place)
