"""coremltools' MLModel answers with Pippin. What needs coremltools itself runs by ``python3 dev.py coremltools``."""

from __future__ import annotations

import importlib.util
import os
import pickle
import re
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pippin import CheckError, UnsupportedError
from pippin.coreml import schema
from pippin.integrations.coremltools import ModelProxy

ROOT = Path(__file__).resolve().parents[1]
DIGITS = ROOT / "examples/digits.mlmodel"
SEVEN = ROOT / "examples/digit-7.png"

needs_coremltools = pytest.mark.skipif(
    importlib.util.find_spec("coremltools") is None,
    reason="coremltools is not installed; python3 dev.py coremltools runs this",
)


def run(code: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    """Runs Python code in a process of its own, with ``paths`` before all others."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def linear(path: Path, kind: str = "neuralNetwork", **parameters: Any) -> Path:
    """A model that doubles three numbers; broken where ``parameters`` say so."""
    model = schema.message("Model")()
    model.specificationVersion = 4
    for features, name in ((model.description.input, "x"), (model.description.output, "y")):
        entry = features.add(name=name)
        entry.type.multiArrayType.shape.append(3)
        entry.type.multiArrayType.dataType = 65568
    network = getattr(model, kind)
    if kind == "neuralNetwork":
        network.arrayInputShapeMapping = 1
        layer = network.layers.add(name="double", input=[parameters.get("input", "x")], output=["y"])
        layer.activation.linear.alpha = 2
    else:
        network.SetInParent()
    path.write_bytes(model.SerializeToString())
    return path


# -- the predictor, without coremltools ------------------------------------------------------------------------------


def test_answers_dicts_and_lists_with_the_arguments_of_every_version(tmp_path: Path) -> None:
    path = str(linear(tmp_path / "m.mlmodel"))
    for arguments in ((), ("CPU_ONLY",), ("ALL", ""), ("ALL", "main", {"reshapeFrequency": "Frequent"}, None)):
        proxy = ModelProxy(path, *arguments)
        assert proxy.get_load_duration_in_nano_seconds() > 0
        assert proxy.get_last_predict_duration_in_nano_seconds() is None
        np.testing.assert_array_equal(proxy.predict({"x": np.array([1.0, 2, 3])})["y"], [2, 4, 6])
        answers = proxy.batchPredict([{"x": np.full(3, n)} for n in range(5)])
        np.testing.assert_array_equal([answer["y"] for answer in answers], [[2 * n] * 3 for n in range(5)])
        assert (proxy.get_last_predict_duration_in_nano_seconds() or 0) > 0


def test_a_model_survives_its_file_and_pickling_and_serves_threads(tmp_path: Path) -> None:
    path = linear(tmp_path / "m.mlmodel")
    proxy = ModelProxy(str(path))
    path.unlink()
    copy = pickle.loads(pickle.dumps(proxy))
    wrong: list[int] = []

    def ask(n: int) -> None:
        for _ in range(50):
            if not np.array_equal(copy.predict({"x": np.full(3, n)})["y"], np.full(3, 2 * n)):
                wrong.append(n)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_another_type_is_silent_until_it_is_asked(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        proxy = ModelProxy(str(linear(tmp_path / "m.mlmodel", "mlProgram")))
    for call in (lambda: proxy.predict({"x": 1}), lambda: proxy.batchPredict([{"x": 1}])):
        with pytest.raises(UnsupportedError, match=r"m\.mlmodel: the model is of type mlProgram"):
            call()
    again = pickle.loads(pickle.dumps(proxy))
    with pytest.raises(UnsupportedError, match="convert_to='neuralnetwork'"):
        again.predict({})


def test_a_broken_network_warns_when_it_is_loaded_and_raises_when_it_is_asked(tmp_path: Path) -> None:
    path = linear(tmp_path / "m.mlmodel", input="z")
    with pytest.warns(RuntimeWarning, match="will not predict: m.mlmodel: layer 'double'"):
        proxy = ModelProxy(str(path))
    with pytest.raises(CheckError, match="input 'z' is made by no earlier layer"):
        proxy.predict({"x": np.zeros(3)})


def test_what_only_a_mac_has_is_refused(tmp_path: Path) -> None:
    path = str(linear(tmp_path / "m.mlmodel"))
    proxy = ModelProxy(path)
    calls = [
        lambda: proxy.predict({"x": np.zeros(3)}, object()),
        lambda: ModelProxy(path, "ALL", "", {}, object()),
        proxy.newState,
        proxy.get_compiled_model_path,
        lambda: ModelProxy.compileModel(path),  # type: ignore[attr-defined]
        lambda: ModelProxy.get_compute_plan(path, "ALL"),  # type: ignore[attr-defined]
        ModelProxy.get_available_compute_devices,  # type: ignore[attr-defined]
    ]
    for call in calls:
        with pytest.raises(UnsupportedError, match="need a Mac"):
            call()


@pytest.mark.parametrize(("file", "version"), [("digits", 1), ("digits-4bit", 3), ("", 4)])
@pytest.mark.parametrize("declared", [1, 10])
def test_the_smallest_version_is_found(tmp_path: Path, file: str, version: int, declared: int) -> None:
    path = ROOT / f"examples/{file}.mlmodel" if file else linear(tmp_path / "m.mlmodel")
    model = schema.message("Model").FromString(path.read_bytes())
    model.specificationVersion = declared
    assert ModelProxy.auto_set_specification_version(model) is model
    assert model.specificationVersion == version


def test_a_version_for_an_ml_program_is_refused(tmp_path: Path) -> None:
    model = schema.message("Model").FromString(linear(tmp_path / "m.mlmodel", "mlProgram").read_bytes())
    with pytest.raises(UnsupportedError, match="mlProgram"):
        ModelProxy.auto_set_specification_version(model)


# -- install() with a package that only looks like coremltools -------------------------------------------------------

PACKAGE = """
import logging
__version__ = "99.1"
_logger = logging.getLogger("coremltools")
"""
MODEL = """
try:
    from ..libcoremlpython import _MLModelProxy
except Exception as error:
    print("Failed to load _MLModelProxy:", error)
    _MLModelProxy = None
"""


def package(folder: Path, *, hook: bool = True, native: bool = False) -> Path:
    models = folder / "coremltools/models"
    models.mkdir(parents=True)
    (folder / "coremltools/__init__.py").write_text(PACKAGE)
    (models / "__init__.py").write_text("from . import model\n")
    (models / "model.py").write_text(MODEL if hook else "")
    if native:
        (folder / "coremltools/libcoremlpython.py").write_text("class _MLModelProxy: pass\nAPPLE = True\n")
    return folder


INSTALL = "from pippin.integrations.coremltools import install, ModelProxy; "


def test_installed_before_the_import_it_is_silent(tmp_path: Path) -> None:
    code = "install(); install(); import coremltools.models.model as m; print(m._MLModelProxy is ModelProxy)"
    done = run(INSTALL + code, package(tmp_path))
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_installed_after_the_import_it_works_as_well(tmp_path: Path) -> None:
    code = "install(); print(m._MLModelProxy is ModelProxy)"
    done = run("import coremltools.models.model as m; " + INSTALL + code, package(tmp_path))
    assert done.stdout.splitlines()[1:] == ["True"], done
    assert done.stderr == ""


def test_the_native_module_of_a_mac_stays(tmp_path: Path) -> None:
    code = "install(); import coremltools.libcoremlpython as n, coremltools.models.model as m; "
    done = run(INSTALL + code + "print(n.APPLE, m._MLModelProxy is ModelProxy)", package(tmp_path, native=True))
    assert (done.stdout, done.stderr) == ("True True\n", "")


ATTEMPT = """
import sys
from pippin.integrations.coremltools import install
try:
    install()
except Exception as error:
    print(type(error).__name__, error)
print("coremltools.libcoremlpython" in sys.modules)
"""


@pytest.mark.parametrize("model", [True, False])
def test_a_version_without_the_hook_is_refused_and_left_alone(tmp_path: Path, model: bool) -> None:
    package(tmp_path, hook=False)
    if not model:
        (tmp_path / "coremltools/models/model.py").unlink()
        (tmp_path / "coremltools/models/__init__.py").write_text("")
    done = run(ATTEMPT, tmp_path)
    assert done.stdout.startswith("UnsupportedError coremltools 99.1 has no hook for a predictor"), done
    assert done.stdout.endswith("hint: pip install coremltools==9.0\nFalse\n")


def test_a_coremltools_that_does_not_import_is_no_device(tmp_path: Path) -> None:
    package(tmp_path)
    (tmp_path / "coremltools/__init__.py").write_text("import a_module_that_is_not_there")
    done = run(ATTEMPT, tmp_path)
    wanted = "DeviceError coremltools cannot be imported: No module named 'a_module_that_is_not_there'\nFalse\n"
    assert done.stdout == wanted, done


@pytest.mark.skipif(importlib.util.find_spec("coremltools") is not None, reason="coremltools is installed")
def test_without_coremltools_the_device_is_missing() -> None:
    code = INSTALL + "import pippin\ntry: install()\nexcept pippin.DeviceError as error: print(error)"
    assert run(code).stdout == "coremltools is not installed\nhint: pip install coremltools==9.0\n"


# -- with coremltools itself -----------------------------------------------------------------------------------------


@needs_coremltools
def test_the_guide() -> None:
    text = (ROOT / "docs/guides/coremltools.md").read_text(encoding="utf-8")
    (session,) = re.findall(r"```pycon\n(.*?)```", text, re.S)
    code = "\n".join(line[4:] for line in session.splitlines() if line.startswith(">>> "))
    wanted = "".join(f"{line}\n" for line in session.splitlines() if not line.startswith(">>> "))
    head, _, last = code.rpartition("\n")
    done = run(f"{head}\nprint({last})")
    assert done.stdout == wanted
    assert "libcoremlpython" not in done.stderr


@needs_coremltools
def test_models_of_coremltools(tmp_path: Path) -> None:
    code = f"""
    import pickle, warnings
    import numpy as np
    import pippin
    from pippin.integrations.coremltools import install
    import coremltools as ct
    install()
    from coremltools.models import datatypes, neural_network
    from coremltools.models.neural_network.quantization_utils import quantize_weights

    @pippin.custom_layer("Halve")
    def halve(inputs, params):
        return [x / 2 for x in inputs]

    features = [("x", datatypes.Array(4))], [("y", datatypes.Array(3))]
    builder = neural_network.NeuralNetworkBuilder(*features, disable_rank5_shape_mapping=True)
    W = np.arange(12, dtype=np.float32).reshape(3, 4)
    builder.add_inner_product("dense", W, None, 4, 3, False, "x", "t")
    params = ct.proto.NeuralNetwork_pb2.CustomLayerParams()
    params.className = "Halve"
    builder.add_custom("halve", ["t"], ["y"], params)
    model = ct.models.MLModel(builder.spec)
    print(model.predict({{"x": np.ones(4)}})["y"])
    print([answer["y"].tolist() for answer in model.predict([{{"x": [n, 0, 0, 0]}} for n in range(3)])])
    print(pickle.loads(pickle.dumps(model.__proxy__)).predict({{"x": np.ones(4)}})["y"])
    quantize_weights(model, 8, sample_data=[{{"x": np.ones(4)}}])
    ct.utils.save_spec(builder.spec, {str(tmp_path / "m.mlmodel")!r}, auto_set_specification_version=True)
    again = ct.models.MLModel({str(tmp_path / "m.mlmodel")!r})
    print(again.predict({{"x": np.ones(4)}})["y"], again.get_spec().specificationVersion)
    """
    done = run(code)
    lines = done.stdout.splitlines()
    assert lines[:3] == ["[ 3. 11. 19.]", "[[0.0, 0.0, 0.0], [0.0, 2.0, 4.0], [0.0, 4.0, 8.0]]", "[ 3. 11. 19.]"], done
    assert any("SNR" in line or "Output" in line for line in lines), "quantize_weights compares"
    assert lines[-1] == "[ 3. 11. 19.] 4", done


@needs_coremltools
def test_a_program_converts_and_refuses_to_predict() -> None:
    code = """
    import warnings
    warnings.simplefilter("error", RuntimeWarning)
    from pippin.integrations.coremltools import install
    install()
    import coremltools as ct
    from coremltools.converters.mil import Builder as mb

    @mb.program(input_specs=[mb.TensorSpec(shape=(2, 3))])
    def program(x):
        return mb.relu(x=x, name="y")

    for kind in ("neuralnetwork", "mlprogram"):
        model = ct.convert(program, convert_to=kind)
        try:
            print(model.predict({"x": [[1, -1, 2], [-3, 4, -5]]})["y"].tolist())
        except Exception as error:
            print(type(error), str(error).partition(": ")[2].splitlines()[0])
    """
    done = run(code)
    assert done.stdout.splitlines() == [
        "[[1.0, 0.0, 2.0], [0.0, 4.0, 0.0]]",
        "<class 'pippin.errors.UnsupportedError'> the model is of type mlProgram; Pippin runs neuralNetwork,"
        " neuralNetworkClassifier, neuralNetworkRegressor",
    ], done
