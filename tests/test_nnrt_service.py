"""The service as its clients see it: the same objects as in process, that survive restarts."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

if sys.platform != "linux":
    pytest.skip("the NNRt service needs Linux", allow_module_level=True)

from nnrt_models import add_model, constant, io_tensor, one_node, out_tensor, values
from nnrt_wire import eventually, floats, memfd
from pippin import nnrt
from pippin.cli import cli
from pippin.errors import DeviceError, InputError
from pippin.nnrt.attributes import AddFusion
from pippin.nnrt.conformance import Status, run_suite
from pippin.nnrt.enums import Priority
from pippin.nnrt.enums import ReturnCode as C
from pippin.nnrt.errors import NnrtError
from pippin.nnrt.gate import Call
from pippin.nnrt.service import protocol
from pippin.nnrt.service.client import RemoteDevice, connect
from pippin.nnrt.service.limits import Limits
from pippin.nnrt.service.server import Server
from pippin.nnrt.types import IOTensor, Model, ModelConfig, Node, SharedBuffer, SubGraph, Tensor

ONE = np.ones((3, 2, 2), np.float32)
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("service") / "s") as running:
        yield running


@pytest.fixture
def device(server: Server) -> Iterator[RemoteDevice]:
    with connect(server.path) as found:
        yield found


@contextmanager
def serving(path: Path, **options: Any) -> Iterator[Server]:
    """A service of its own."""
    with Server(path, **options) as running:
        yield running


@contextmanager
def process(path: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A service in a process of its own, there when the block begins."""
    command = [sys.executable, "-m", "pippin", "nnrt", "serve", "--socket", str(path), *words]
    running = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert running.stderr is not None
    try:
        lines = []
        for line in running.stderr:
            lines.append(line)
            if line.startswith(b"serving at"):
                break
        assert lines[-1].startswith(b"serving at"), lines
        yield running
    finally:
        running.kill()
        running.wait()
        running.stderr.close()


def chain(size: int = 600, rounds: int = 40) -> Model:
    """Matrix products one after the other: a run takes long enough to be stopped."""
    g = nnrt.GraphBuilder("chain")
    x = g.input("x", [size, size])
    y, weights = x, g.constant(np.full((size, size), 1 / size, np.float32))
    for _ in range(rounds):
        y = g.MatMulFusion(y, weights)
    return g.finish(y)


def long_run(device: Any, priority: Priority = Priority.NONE) -> tuple[Any, list[Any], list[Any], int]:
    """A model, inputs and outputs of a run that takes a second or so."""
    size = 600
    prepared = device.prepare(chain(size, 60), ModelConfig(priority=priority))
    x = np.ones((size, size), np.float32)
    return prepared, [io_tensor(x)], [out_tensor((size, size))], size


def run(*words: str) -> Any:
    return CliRunner().invoke(cli, list(words))


def code_of(function: Callable[[], Any]) -> C:
    with pytest.raises(NnrtError) as refused:
        function()
    return refused.value.code


# -- the same objects as in process ------------------------------------------------------------------------------------


def test_conformance_passes_as_in_process(device: RemoteDevice) -> None:
    outcome = run_suite(device)
    assert outcome.ok, str(outcome)
    assert not outcome.of(Status.UNSUPPORTED), str(outcome)


def test_the_same_answers_and_attributes(device: RemoteDevice) -> None:
    local = nnrt.devices()[0]
    for name in ("name", "vendor", "type", "supports_float16", "supports_performance_mode", "supports_priority",
                 "supports_dynamic_input", "supports_model_cache", "status"):  # fmt: skip
        assert getattr(device, name) == getattr(local, name), name
    model = nnrt.load_model(EXAMPLES / "digits.nnrt")
    ours, theirs = device.prepare(model), local.prepare(model)
    assert ours.inputs == theirs.inputs
    assert ours.outputs == theirs.outputs
    assert ours.input_dim_ranges() == theirs.input_dim_ranges()
    picture = np.random.default_rng(0).uniform(0, 255, ours.inputs[0].dims)
    for name, array in theirs.predict([picture]).items():
        assert np.array_equal(ours.predict([picture])[name], array)
    assert device.supported_operations(model) == local.supported_operations(model)


def test_what_predict_refuses(device: RemoteDevice) -> None:
    prepared = device.prepare(add_model())
    for wrong in ({"x": ONE}, {"x": ONE, "y": ONE, "z": ONE}, [ONE], [ONE, ONE[:1]]):
        with pytest.raises(InputError):
            prepared.predict(wrong)


def test_refusals_carry_their_text(device: RemoteDevice) -> None:
    model = add_model()
    model.allTensors[0].dataType = 1000
    with pytest.raises(NnrtError, match="1000 is no data type") as refused:
        device.prepare(model)
    assert (refused.value.code, refused.value.where) == (C.INVALID_DATATYPE, "tensor 0 'x'")


def test_open_dims_and_outputs_that_are_too_small(device: RemoteDevice) -> None:
    prepared = device.prepare(add_model((-1, 2)))
    for rows in (1, 5, 3):
        x = np.arange(rows * 2, dtype=np.float32).reshape(rows, 2)
        assert np.array_equal(prepared.predict([x, x])["out"], 2 * x)
    x = np.ones((5, 2), np.float32)
    with pytest.raises(NnrtError) as refused:
        prepared.run([io_tensor(x), io_tensor(x)], [out_tensor((1, 2))])
    assert (refused.value.code, refused.value.output_dims) == (C.INSUFFICIENT_BUFFER, [[5, 2]])


def test_constants_in_many_descriptors(device: RemoteDevice) -> None:
    count = 100
    tensors = [Tensor("x", dims=[2])]
    nodes = []
    for index in range(count):
        tensors += [constant(np.full(2, index, np.float32), f"c{index}"), Tensor(f"y{index}", dims=[2])]
        before = 2 * index
        nodes.append(Node("", AddFusion.node_type, AddFusion().to_bytes(), [before, before + 1], [before + 2]))
    model = Model("many", [0], [2 * count], nodes, tensors, [SubGraph("g", [0], [2 * count], list(range(count)))])
    answer = device.prepare(model).predict([np.zeros(2, np.float32)])
    assert next(iter(answer.values())).tolist() == [4950, 4950]


def test_memory_is_attached_once_and_let_go(device: RemoteDevice, server: Server) -> None:
    prepared = device.prepare(add_model())
    (session,) = server.sessions.values()
    inputs, outputs = [io_tensor(ONE), io_tensor(ONE)], [out_tensor((3, 2, 2))]
    attached = (("method", "Attach"), ("code", "SUCCESS"))
    before = server.metrics.value("requests_total", attached)
    for _ in range(5):
        prepared.run(inputs, outputs)
    assert eventually(lambda: server.metrics.value("requests_total", attached) == before + 3)
    assert session.descriptors.used == 3
    assert session.shared_bytes.used == 3 * 48
    del inputs, outputs
    prepared.input_dim_ranges()
    assert eventually(lambda: session.descriptors.used == 0)
    assert session.shared_bytes.used == 0


def test_a_number_that_means_other_memory_now(device: RemoteDevice) -> None:
    prepared = device.prepare(add_model((2,)))
    fd = memfd(24)
    for value in (1, 2, 3):
        os.close(fd)
        again = memfd(24, content=floats(value, value, 10, 20))
        assert again == fd
        tensors = [IOTensor("", dimensions=[2], data=SharedBuffer(fd, 24, at, 8)) for at in (0, 8, 16)]
        prepared.run(tensors[:2], tensors[2:])
        assert os.pread(fd, 8, 16) == floats(value + 10, value + 20)
    os.close(fd)


def test_models_go_with_their_last_user(device: RemoteDevice, server: Server) -> None:
    (session,) = server.sessions.values()
    models = [device.prepare(add_model()) for _ in range(3)]
    assert len(session.models) == 3
    del models
    assert device.status is not None
    assert not session.models
    assert session.models_budget.used == 0


def test_several_threads_use_several_connections(device: RemoteDevice) -> None:
    prepared = device.prepare(add_model())
    failed: list[Exception] = []

    def work(seed: int) -> None:
        try:
            x = np.full((3, 2, 2), seed, np.float32)
            inputs, outputs = [io_tensor(x), io_tensor(x)], [out_tensor((3, 2, 2))]
            for _ in range(50):
                values(outputs[0])[:] = 0
                prepared.run(inputs, outputs)
                assert (values(outputs[0]) == 2 * seed).all()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_a_child_after_a_fork_connects_anew(tmp_path: Path) -> None:
    script = """if True:
        import os, sys
        sys.path.insert(0, sys.argv[2])
        import numpy as np
        from nnrt_models import add_model
        from pippin import nnrt
        device = nnrt.connect(sys.argv[1])
        prepared = device.prepare(add_model())
        one = np.ones((3, 2, 2), np.float32)
        prepared.predict([one, one])
        child = os.fork()
        for _ in range(50):
            assert (prepared.predict([one, one])["out"] == 2).all()
        if child:
            assert os.waitpid(child, 0)[1] == 0
        device.close()
        print("fine", flush=True)
        os._exit(0)
    """
    with process(tmp_path / "s"):
        words = [sys.executable, "-c", script, str(tmp_path / "s"), str(Path(__file__).parent)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout.count("fine")) == (0, 2), done.stderr


# -- caches ------------------------------------------------------------------------------------------------------------


def test_exported_caches_outlive_a_restart_but_no_other_key(tmp_path: Path) -> None:
    with serving(tmp_path / "s", cache=tmp_path / "cache"), connect(tmp_path / "s") as device:
        exported = device.prepare(add_model()).export_cache()
    with serving(tmp_path / "s", cache=tmp_path / "cache"), connect(tmp_path / "s") as device:
        assert (device.prepare_from_cache(exported).predict([ONE, ONE])["out"] == 2).all()
    with serving(tmp_path / "s"), connect(tmp_path / "s") as device:
        assert code_of(lambda: device.prepare_from_cache(exported)) == C.INVALID_MODEL_CACHE
        assert code_of(lambda: device.prepare_offline(exported)) == C.INVALID_MODEL
        local = nnrt.devices()[0].prepare(add_model()).export_cache()
        assert code_of(lambda: device.prepare_from_cache(local)) == C.INVALID_MODEL_CACHE


def test_compiled_models_are_shared_on_disk(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    with serving(tmp_path / "s", cache=cache) as server:
        for _ in range(2):
            with connect(tmp_path / "s") as device:
                device.prepare(add_model())
                device.prepare(add_model(), ModelConfig(enableFloat16=True))
        assert (server.store.hits, server.store.misses) == (2, 2)
    assert cache.stat().st_mode & 0o777 == 0o700
    assert (cache / "key").stat().st_mode & 0o777 == 0o600
    found = sorted(cache.glob("*.prepared"))
    assert len(found) == 2
    for path in found:  # whoever can write there writes something else: it is made anew
        path.write_bytes(path.read_bytes()[:-1] + b"\0")
    with serving(tmp_path / "s", cache=cache) as server, connect(tmp_path / "s") as device:
        prepared = device.prepare(add_model())
        assert (prepared.predict([ONE, ONE])["out"] == 2).all()
        assert (server.store.hits, server.store.misses) == (0, 1)


def test_the_oldest_go_from_a_full_folder(tmp_path: Path) -> None:
    with serving(tmp_path / "s", cache=tmp_path / "c", cache_bytes=1500) as server, connect(server.path) as device:
        for size in range(1, 6):
            device.prepare(add_model((size,)))
            time.sleep(0.01)
        kept = list((tmp_path / "c").glob("*.prepared"))
        assert 1 <= len(kept) < 5
        device.prepare(add_model((5,)))
        assert server.store.hits == 1


def test_other_constants_are_another_model(tmp_path: Path) -> None:
    def model(value: float) -> Model:
        return one_node(
            AddFusion(), [Tensor("x", dims=[2]), constant(np.full(2, value, np.float32))], [Tensor("y", dims=[2])]
        )

    with serving(tmp_path / "s", cache=tmp_path / "c") as server, connect(server.path) as device:
        for value in (1, 2, 1):
            answer = device.prepare(model(value)).predict([np.zeros(2)])
            assert answer["y"].tolist() == [value, value]
        assert (server.store.hits, server.store.misses) == (1, 2)


# -- restarts ----------------------------------------------------------------------------------------------------------


def test_clients_survive_a_service_that_is_killed_and_started_again(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with process(path):
        device = connect(path, timeout=30)
        prepared = device.prepare(add_model())
        buffer = device.allocate(48)
        given = io_tensor(ONE)
        given.data = buffer
        np.copyto(buffer.owner.array.view(np.float32), 3)
        inputs, outputs = [given, io_tensor(ONE)], [out_tensor((3, 2, 2))]
        prepared.run(inputs, outputs)
        assert (values(outputs[0]) == 4).all()
    values(outputs[0])[:] = 0
    with process(path):
        prepared.run(inputs, outputs)
        assert (values(outputs[0]) == 4).all()
        device.release(buffer)
        assert (prepared.predict([ONE, ONE])["out"] == 2).all()
    device.close()
    assert code_of(lambda: prepared.predict([ONE, ONE])) == C.OPERATION_FORBIDDEN


def test_a_model_whose_memory_changed_is_not_prepared_anew_in_silence(tmp_path: Path) -> None:
    weights = constant(np.ones(2, np.float32))
    model = one_node(AddFusion(), [Tensor("x", dims=[2]), weights], [Tensor("y", dims=[2])])
    with serving(tmp_path / "s"):
        device = connect(tmp_path / "s")
        prepared = device.prepare(model)
    weights.data.owner.array[:] = 7
    with serving(tmp_path / "s"):
        with pytest.raises(NnrtError, match="holds something else now"):
            prepared.predict([np.zeros(2)])
        device.close()


def test_a_service_that_stays_away(tmp_path: Path) -> None:
    with serving(tmp_path / "s"):
        device = connect(tmp_path / "s", timeout=0.3)
        prepared = device.prepare(add_model())
    with pytest.raises(NnrtError, match="no service at") as refused:
        prepared.predict([ONE, ONE])
    assert refused.value.code is C.SERVICE_ERROR
    device.close()


def test_no_service_no_device_no_linux(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DeviceError, match="no service at"):
        nnrt.connect(tmp_path / "nothing")
    with pytest.raises(DeviceError, match="has no device 'npu'"):
        nnrt.connect(server.path, "npu")
    nnrt.connect(server.path, "cpu").close()
    monkeypatch.setattr(protocol, "SUPPORTED", False)
    for function in (lambda: nnrt.connect(server.path), lambda: Server(tmp_path / "s")):
        with pytest.raises(DeviceError, match="needs Linux"):
            function()
    assert isinstance(run("nnrt", "serve").exception, DeviceError)


def test_a_path_that_is_taken(tmp_path: Path, server: Server) -> None:
    with pytest.raises(DeviceError, match="another service is here"):
        Server(server.path).start()
    with pytest.raises(DeviceError, match="cannot be"):
        Server(tmp_path / "no such folder" / "s").start()
    with pytest.raises(DeviceError, match="cannot be bound"):
        Server(tmp_path / ("long" * 40)).start()
    with pytest.raises(DeviceError, match="needs a name"):
        Server("").start()
    server = Server(tmp_path / "s")
    server.stop()  # it never began
    (tmp_path / "s").write_text("a file")
    with pytest.raises(DeviceError, match="cannot be bound"):
        Server(tmp_path / "s").start()
    (tmp_path / "s").unlink()
    with serving(tmp_path / "s"):  # the one that failed keeps nothing
        pass


# -- stopping runs -----------------------------------------------------------------------------------------------------


def test_a_run_is_cancelled_from_another_thread(device: RemoteDevice) -> None:
    for where in (device, nnrt.devices()[0]):
        prepared, inputs, outputs, _ = long_run(where)
        call = Call()
        timer = threading.Timer(0.1, call.stop)
        timer.start()
        assert code_of(partial(prepared.run, inputs, outputs, call=call)) == C.CANCELLED
        timer.join()
        assert code_of(partial(prepared.run, inputs, outputs, call=call)) == C.CANCELLED
        call.reset()
        prepared.run(inputs, outputs, call=call)


def test_a_run_that_takes_too_long(device: RemoteDevice) -> None:
    for where in (device, nnrt.devices()[0]):
        prepared, inputs, outputs, size = long_run(where)
        assert code_of(partial(prepared.run, inputs, outputs, call=Call(timeout=0.1))) == C.TIME_OUT
        prepared.run(inputs, outputs, call=Call(timeout=60))
        assert np.allclose(values(outputs[0], [size, size]), 1, atol=1e-3)


def test_the_service_has_a_limit_of_its_own(tmp_path: Path) -> None:
    with serving(tmp_path / "s", limits=Limits(run_seconds=0.1)) as server, connect(server.path) as device:
        prepared, inputs, outputs, _ = long_run(device)
        assert code_of(lambda: prepared.run(inputs, outputs)) == C.TIME_OUT


def test_what_runs_comes_to_its_end_when_the_service_stops(tmp_path: Path) -> None:
    running = Server(tmp_path / "s")
    running.start()
    device = connect(tmp_path / "s", timeout=0.1)
    prepared, inputs, outputs, size = long_run(device)
    thread = threading.Thread(target=prepared.run, args=(inputs, outputs))
    thread.start()
    assert eventually(lambda: any(lane._current is not None for lane in running._all()))
    running.stop(60)
    thread.join()
    assert np.allclose(values(outputs[0], [size, size]), 1, atol=1e-3)
    assert not (tmp_path / "s").exists()
    device.close()


def test_what_does_not_come_to_its_end_is_stopped(tmp_path: Path) -> None:
    running = Server(tmp_path / "s")
    running.start()
    device = connect(tmp_path / "s", timeout=0.1)
    prepared, inputs, outputs, _ = long_run(device)
    codes: list[C] = []

    def run() -> None:
        try:
            prepared.run(inputs, outputs)
        except NnrtError as error:
            codes.append(error.code)

    thread = threading.Thread(target=run)
    thread.start()
    assert eventually(lambda: any(lane._current is not None for lane in running._all()))
    running.stop(0.0)
    thread.join()
    assert codes == [C.SERVICE_ERROR]
    device.close()


# -- priorities --------------------------------------------------------------------------------------------------------


def test_the_queue_is_ordered_and_none_starves() -> None:
    from pippin.nnrt.gate import AGING, Gate

    gate, done = Gate(1), []
    gate.enter(Priority.LOW)

    def wait(name: str, priority: Priority) -> None:
        with gate.admitted(priority):
            done.append(name)

    threads = []
    for index, priority in enumerate([Priority.LOW, *[Priority.HIGH] * (2 * AGING), Priority.NONE]):
        threads.append(threading.Thread(target=wait, args=(f"{priority.name} {index}", priority)))
        threads[-1].start()
        assert eventually(lambda index=index: gate.waiting == index + 1)
    gate.leave()
    for thread in threads:
        thread.join()
    assert done[: AGING - 1] == [f"HIGH {index}" for index in range(1, AGING)]
    assert done[AGING - 1] == "LOW 0"  # it waited longest
    assert done[-1] == f"NONE {2 * AGING + 1}"
