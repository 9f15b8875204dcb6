"""coremltools predicts off a Mac: ``MLModel(path).predict(...)`` of neural networks, answered by Pippin.

coremltools hands predictions to a class of its native module, which its wheels hold for macOS alone. ``install()`` puts
``ModelProxy`` in that place::

    import pippin.integrations.coremltools
    pippin.integrations.coremltools.install()

    import coremltools
    coremltools.models.MLModel("digits.mlmodel").predict({"image": picture})

Made for coremltools 9.0; older versions with the same hook work too. Lists, custom layers (``pippin.custom_layer``),
pictures, threads and pickling work as with ``pippin.load``.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import time
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import DeviceError, PippinError, UnsupportedError

if TYPE_CHECKING:
    from ..coreml.model import Model

_NATIVE = "coremltools.libcoremlpython"
_USERS = ("model", "_compiled_model", "compute_device", "compute_plan")
"""Modules of ``coremltools.models`` that take the predictor over when they are imported."""


class ModelProxy:
    """Answers what coremltools asks of its own predictor, for neural networks.

    ``compute_units`` and ``optimization_hints`` choose between the chips of a Mac; here they change nothing.

    A model that cannot run is held all the same, so that it can be edited and saved: ``predict`` raises the error that
    ``pippin.load`` raises. For neural networks a ``RuntimeWarning`` says so at once, as on a Mac; ML Programs and other
    types stay silent until then.
    """

    def __init__(
        self,
        path: str,
        compute_units: str = "ALL",
        function_name: str = "",
        optimization_hints: Mapping[str, str] | None = None,
        asset: Any = None,
    ) -> None:
        if asset is not None:
            _refuse("compiled model assets")
        _allow_comparisons()
        begin = time.perf_counter_ns()
        self._model: Model | None = None
        self._error: PippinError | None = None
        self._last: int | None = None
        try:
            self._model = _load(path)
        except UnsupportedError as error:
            self._error = error
        except PippinError as error:
            self._error = error
            warnings.warn(f"this Core ML model will not predict: {error}", RuntimeWarning, stacklevel=4)
        self._load = time.perf_counter_ns() - begin

    def predict(self, data: Mapping[str, Any], state: Any = None) -> dict[str, Any]:
        """The answer for one dict of inputs. Raises what ``Model.predict`` raises."""
        if state is not None:
            _refuse("states of ML Programs")
        begin = time.perf_counter_ns()
        answer = self._ready().predict(data)
        self._last = time.perf_counter_ns() - begin
        return answer

    def batchPredict(self, data: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The answers for a list of dicts."""
        begin = time.perf_counter_ns()
        answers = self._ready().predict(list(data))
        self._last = time.perf_counter_ns() - begin
        return answers

    def _ready(self) -> Model:
        if self._model is None:
            assert self._error is not None
            raise self._error.with_traceback(None)
        return self._model

    def get_load_duration_in_nano_seconds(self) -> int:
        """How long the model took to load."""
        return self._load

    def get_last_predict_duration_in_nano_seconds(self) -> int | None:
        """How long the last prediction took; None before the first."""
        return self._last

    def newState(self) -> NoReturn:
        """States belong to ML Programs."""
        _refuse("states of ML Programs")

    def get_compiled_model_path(self) -> NoReturn:
        """Pippin compiles into memory."""
        _refuse("files of compiled models")

    @staticmethod
    def maximum_supported_specification_version() -> int:
        """The newest version of the format that Pippin knows."""
        from ..coreml.check.versions import NEWEST

        return NEWEST

    @staticmethod
    def auto_set_specification_version(spec: Any) -> Any:
        """``spec`` with the smallest specificationVersion that has all it uses; neural networks only."""
        from ..coreml.check import check_document
        from ..coreml.check.versions import NEWEST
        from ..coreml.read import read

        document = read(spec.SerializeToString())
        _ = document.network
        for version in range(1, NEWEST + 1):
            document.model.specificationVersion = version
            if not any(finding.code.startswith("version-") for finding in check_document(document).findings):
                break
        spec.specificationVersion = version
        return spec


def _allow_comparisons() -> None:
    """Lets ``quantize_weights(…, sample_data=…)`` compare predictions, which it does on a Mac alone.

    It asks for the version of macOS, for nothing else; where something pretends to be a Mac it would look for a
    program of macOS and fail.
    """
    module = sys.modules.get("coremltools.models.neural_network.quantization_utils")
    if module is not None and sys.platform != "darwin":
        module.__dict__["_macos_version"] = lambda: (15, 0)


def _load(path: str) -> Model:
    from ..coreml.model import load

    return load(path)


def _refuse(what: str) -> NoReturn:
    raise UnsupportedError(f"Pippin answers predictions of neural networks; {what} need a Mac")


def _absent(what: str) -> Callable[..., NoReturn]:
    def refuse(*arguments: Any, **options: Any) -> NoReturn:
        _refuse(what)

    return refuse


for _name, _what in {
    "compileModel": "files of compiled models",
    "create_model_asset_from_path": "compiled model assets",
    "create_model_asset_from_memory": "compiled model assets",
    "get_model_structure": "structures of compiled models",
    "get_compute_plan": "compute plans",
    "get_all_compute_devices": "lists of compute devices",
    "get_available_compute_devices": "lists of compute devices",
}.items():
    setattr(ModelProxy, _name, staticmethod(_absent(_what)))


def _stand_in() -> types.ModuleType:
    """What coremltools imports from its native module; but for the predictor these are names without a use."""
    module = types.ModuleType(_NATIVE, "Stands for the native module that coremltools has on a Mac.")
    module.__dict__["_MLModelProxy"] = ModelProxy
    for name in (
        "_MLModelAssetProxy",
        "_MLComputePlanProxy",
        "_MLCPUComputeDeviceProxy",
        "_MLGPUComputeDeviceProxy",
        "_MLNeuralEngineComputeDeviceProxy",
    ):
        module.__dict__[name] = type(name, (), {})
    return module


def _has_native() -> bool:
    """Whether the installed coremltools has its native module, as on a Mac; without importing anything."""
    found = importlib.util.find_spec("coremltools")
    if found is None or found.submodule_search_locations is None:
        raise DeviceError("coremltools is not installed", hint="pip install coremltools==9.0")
    return importlib.machinery.PathFinder.find_spec(_NATIVE, list(found.submodule_search_locations)) is not None


def _hookless() -> UnsupportedError:
    version = getattr(sys.modules.get("coremltools"), "__version__", "of an unknown version")
    return UnsupportedError(
        f"coremltools {version} has no hook for a predictor (coremltools.models.model._MLModelProxy)",
        hint="pip install coremltools==9.0",
    )


def install() -> None:
    """Makes ``coremltools.models.MLModel.predict`` answer with Pippin in this process, from now on.

    Called before coremltools is imported, its warnings about the missing native module do not appear; called later, it
    works for models that are made from then on. On a Mac it takes the place of Apple's predictor in the same way.
    A second call changes nothing.

    Raises ``DeviceError`` if coremltools is not installed or cannot be imported, ``UnsupportedError`` if its version
    has no such hook.
    """
    native = _has_native()
    if not native and not isinstance(getattr(sys.modules.get(_NATIVE), "_MLModelProxy", None), type):
        sys.modules[_NATIVE] = _stand_in()
    try:
        module = importlib.import_module("coremltools.models.model")
        if not hasattr(module, "_MLModelProxy"):
            raise _hookless()
    except (ImportError, PippinError) as error:
        if not native:
            sys.modules.pop(_NATIVE, None)
        if isinstance(error, PippinError):
            raise
        if getattr(error, "name", "") == "coremltools.models.model":
            raise _hookless() from None
        raise DeviceError(f"coremltools cannot be imported: {error}") from error
    module.__dict__["_MLModelProxy"] = ModelProxy
    stand_in = sys.modules.get(_NATIVE)
    for name in _USERS if not native else ():
        user = sys.modules.get(f"coremltools.models.{name}")
        for attribute, value in list(vars(user).items()) if user else ():
            # what was imported before the stand-in was there is None
            if value is None and hasattr(stand_in, attribute):
                setattr(user, attribute, getattr(stand_in, attribute))
