"""The conformance run: it passes on the device of this project, and finds what is wrong with others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import nnrt_broken as broken
from pippin.cli import cli
from pippin.errors import DeviceError, InputError
from pippin.nnrt.conformance import GROUPS, Status, all_cases, run_suite
from pippin.nnrt.conformance.operators import missing
from pippin.nnrt.conformance.target import by_idl_names, resolve
from pippin.nnrt.device import Device
from pippin.nnrt.enums import NodeType
from pippin.nnrt.hdi import INnrtDevice

BROKEN: dict[str, list[tuple[type[INnrtDevice], str, str]]] = {
    "device": [
        (broken.Nameless, "GetDeviceName", "not empty"),
        (broken.OfNoKind, "GetDeviceType", "0 to 3, got 17"),
        (broken.Raises, "GetVendorName", "raised RuntimeError: no vendor"),
        (broken.Raises, "GetDeviceStatus", "return code first"),
    ],
    "support": [
        (broken.OneForAll, "a strange node behind a good one", "\\[True, False\\]"),
        (broken.Braggart, "node type 100000 is not supported", r"\[False\], got \[True\]"),
        (broken.Prim, "no refusal: nodes empty", "NNRT_INVALID_NODE"),
    ],
    "codes": [
        (broken.OneCode, "refused: format 5", r"NNRT_INVALID_FORMAT \(23\), got NNRT_FAILED \(1\)"),
        (broken.ConfigFirst, "the model before the configuration", "got NNRT_INVALID_PERFORMANCE_MODE"),
        (broken.TooKind, "hostile: a cycle", "must be refused"),
        (broken.Careless, "Run: another dataType", r"NNRT_INVALID_DATATYPE \(22\), got"),
    ],
    "buffers": [
        (broken.NoMemory, "AllocateBuffer of 48 bytes", "got NNRT_OUT_OF_MEMORY"),
        (broken.ReleasesAll, "ReleaseBuffer leaves other buffers", "got NNRT_INVALID_BUFFER"),
        (broken.FromByteZero, "offsets in one region", "."),
        (broken.SpoilsInputs, "inputs stay as they are", "what it was before"),
        (broken.Remembers, "the same memory again", "5 \\+ 2 must be 7"),
    ],
    "dynamic": [
        (broken.ShortRanges, "ranges of fixed dims", "one row an input"),
        (broken.SilentAboutDims, "an output too small, open dims", "must tell the output dims"),
        (broken.AnyDim, "a dim above the range", "NNRT_OUT_OF_DIMENTION_RANGES"),
    ],
    "cache": [
        (broken.Forgetful, "cache: damaged content", "prepared model"),
        (broken.OneCache, "cache: of two models", "each must give the model"),
        (broken.AnyNumber, "cache: one buffer too many", "2 buffers for 1"),
        (broken.NotOffline, "offline: exported and made again", "got NNRT_NOT_SUPPORT"),
    ],
    "modes": [
        (broken.OnlyNone, "mode NONE, priority HIGH", "got NNRT_INVALID_PRIORITY"),
        (broken.WrongInHalf, "float16: 1 + 2 is 3", "must be 3 everywhere, got"),
        (broken.OneThread, "one model, four threads", "got NNRT_DEVICE_BUSY"),
    ],
    "operators": [
        (broken.SwapsMinMax, "MAXIMUM: broadcast", "output 0 at .* must be"),
        (broken.Rough, "SQRT", "of 24 differ"),
    ],
    "numbers": [
        (broken.ListOrder, "nodes that are listed backwards", "got NNRT_INVALID_MODEL"),
        (broken.Rough, "two Adds: 1.23", "must be"),
    ],
}  # fmt: skip


def test_the_device_of_this_project_conforms() -> None:
    outcome = run_suite(Device())
    assert outcome.ok, str(outcome)
    assert set(outcome.counts()) == set(GROUPS)
    assert not outcome.of(Status.UNSUPPORTED), str(outcome)


def test_every_group_has_a_broken_device() -> None:
    assert set(BROKEN) == set(GROUPS)


@pytest.mark.parametrize(
    ("group", "device", "name", "reason"),
    [pytest.param(group, *row, id=f"{row[0].__name__}: {row[1]}") for group, rows in BROKEN.items() for row in rows],
)
def test_broken_devices_are_caught(group: str, device: type[INnrtDevice], name: str, reason: str) -> None:
    import re

    sound = run_suite(INnrtDevice(), groups=[group], patterns=[name])
    assert sound.results
    assert sound.ok
    outcome = run_suite(device(), groups=[group], patterns=[name])
    failed = outcome.of(Status.FAIL)
    assert failed
    assert re.search(reason, failed[0].reason), failed[0].reason
    assert not outcome.ok


def test_a_device_that_does_little_and_says_so() -> None:
    """Nothing fails; what it does not do is told with its reason."""
    outcome = run_suite(broken.Modest(), groups=["dynamic", "cache", "modes", "operators", "numbers"])
    assert outcome.ok, str(outcome)
    unsupported = outcome.of(Status.UNSUPPORTED)
    assert {result.group for result in unsupported} == {"dynamic", "cache", "modes", "operators", "numbers"}
    assert all(result.reason for result in unsupported)
    assert "IsPrioritySupported says that there is no priority" in str(outcome)
    passed = {result.name for result in outcome.of(Status.PASS)}
    assert {"ADD_FUSION: broadcast", "two Adds: 1.23 + 2.34 + 2.34", "mode NONE, priority NONE"} <= passed


def test_the_manner_of_python() -> None:
    outcome = run_suite(broken.PythonStyle(), groups=["codes", "cache"], patterns=["format", "export"])
    status = {result.name: result.status for result in outcome.results}
    assert status["refused: format 5"] is Status.FAIL
    assert status["refused: format NONE"] is Status.FAIL
    assert status["refused: format -2"] is Status.PASS
    assert status["100 exports"] is Status.UNSUPPORTED


def test_a_case_that_hangs_is_given_up() -> None:
    outcome = run_suite(broken.Hangs(), groups=["device"], timeout=0.2)
    failed = outcome.of(Status.FAIL)
    assert [(result.name, result.reason) for result in failed] == [("GetDeviceStatus", "no answer after 0.2 s")]


def test_every_node_type_has_a_row() -> None:
    assert missing() == []


def test_node_types_that_are_not_lowered_are_not_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    from pippin.nnrt.nodes.base import NODES

    found = NODES.get
    monkeypatch.setattr(NODES, "get", lambda kind: None if kind == NodeType.SOFTMAX else found(kind))
    results = run_suite(Device(), groups=["operators"], patterns=["operators/SOFTMAX"]).results
    assert {(result.status, result.reason) for result in results} == {(Status.UNSUPPORTED, "SOFTMAX is not supported")}


def test_names_are_unique() -> None:
    names = [(case.group, case.name) for case in all_cases()]
    assert len(set(names)) == len(names)
    assert {case.basis for case in all_cases()} == {"suite", "sample", "text", "Pippin"}


def test_wrong_use() -> None:
    with pytest.raises(InputError, match="no group"):
        all_cases(["operator"])
    for wrong in ({"tolerance": float("nan")}, {"tolerance": float("inf")}, {"tolerance": -1}, {"timeout": -1}):
        with pytest.raises(InputError, match="at least 0"):
            run_suite(Device(), groups=["device"], **wrong)
    with pytest.raises(DeviceError, match="no NNRt device"):
        run_suite(object())
    for spec in ("nnrt_broken", "nnrt_broken:", "nnrt_broken:Nobody", "no_such_module_at_all:x"):
        with pytest.raises(DeviceError):
            resolve(spec)


def test_targets_by_name() -> None:
    assert isinstance(resolve("nnrt_broken:Nameless"), broken.Nameless)
    assert by_idl_names(resolve("pippin.nnrt:Device")).GetDeviceName()[1]


def run(*words: str) -> Any:
    return CliRunner().invoke(cli, ["nnrt", "conformance", *words])


def test_command() -> None:
    done = run("--group", "device", "--group", "numbers", "--json")
    content = json.loads(done.output)
    assert done.exit_code == 0
    assert content["schema"] == "pippin.nnrt.conformance/1"
    assert content["ok"]
    assert content["groups"]["device"] == {"pass": 10, "fail": 0, "not supported": 0}
    assert {result["group"] for result in content["results"]} == {"device", "numbers"}


def test_command_with_a_broken_target() -> None:
    done = run("--target", "nnrt_broken:Nameless", "--group", "device")
    assert done.exit_code == 1
    assert "GetDeviceName must answer a text that is not empty" in done.output
    assert "GetVendorName" not in done.output
    assert "GetVendorName" in run("--target", "nnrt_broken:Nameless", "--group", "device", "--all").output


def test_command_lists_cases() -> None:
    lines = run("--list").output.splitlines()
    assert len(lines) == len(all_cases())
    assert "codes/refused: nodes empty" in lines
    assert run("--list", "--only", "codes/refused: nodes empty").output.splitlines() == ["codes/refused: nodes empty"]


def test_command_used_wrongly() -> None:
    for words in (["--group", "x"], ["--only", "nothing like this"], ["--device", "0", "--target", "a:b"]):
        assert run(*words).exit_code == 2


def test_a_target_in_the_folder_where_one_stands(tmp_path: Path) -> None:
    (tmp_path / "mydriver.py").write_text("from pippin.nnrt.hdi import INnrtDevice as Device\n")
    words = ["nnrt", "conformance", "--target", "mydriver:Device", "--group", "device", "--trace"]
    done = subprocess.run(
        [sys.executable, "-m", "pippin", *words], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "device/GetDeviceName" in done.stderr
    assert "total" in done.stdout
