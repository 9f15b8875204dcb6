"""Reports, codes, the reference page, the command line and the formats for other programs."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import test_check_beyond
import test_check_interface
import test_check_layers
import test_check_training
from checkkit import RELU, Net, array, layer, net
from pippin.cli import cli
from pippin.coreml.check import CODES, check, check_document
from pippin.coreml.check.formats import to_github, to_sarif
from pippin.coreml.check.report import show
from pippin.coreml.read import read
from pippin.errors import ReadError

ROOT = Path(__file__).resolve().parents[1]
MODULES = (test_check_beyond, test_check_interface, test_check_layers, test_check_training)
ELSEWHERE = {"unreadable", "not-supported"}
"""Codes that need more than a model to be shown; tests of their own show them."""

BAD = (
    Net(
        layers=(RELU, layer("erf", "no", "z"), layer("erf", "nope", "w")),
        outputs=[array(name, ()) for name in "yzw"],
        version=4,
    )
    .build()
    .SerializeToString()
)
GOOD = net()().SerializeToString()


def test_every_code_has_a_row() -> None:
    shown = {row.code for module in MODULES for row in module.ROWS}
    assert shown | ELSEWHERE == set(CODES)


def test_every_code_is_explained() -> None:
    for code in CODES.values():
        assert code.meaning.endswith("."), code.name
        assert code.example.endswith("."), code.name
        assert not code.remedy or code.remedy.endswith("."), code.name
        assert not (code.fatal and code.severity == "note"), code.name


def test_page_of_codes_is_up_to_date() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from build_check_page import PAGE, page
    finally:
        sys.path.pop(0)
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python tools/build_check_page.py"


def test_finding_has_all_its_parts() -> None:
    finding = check(BAD).findings[0]
    assert finding.code == "blob-unknown"
    assert finding.severity == "error"
    assert finding.where == "layer 1 'erf z' (erf)"
    assert (finding.layer, finding.index, finding.kind) == ("erf z", 1, "erf")
    assert finding.field == "input[0]"
    assert finding.required == "name an input of the model or a blob of an earlier layer"
    assert finding.found == "'no'"
    assert finding.message == f"input[0] must {finding.required}, got 'no'"
    assert finding.hint == CODES["blob-unknown"].remedy
    assert finding.fatal


def test_text_groups_findings_of_one_kind() -> None:
    text = str(check(BAD))
    assert text.startswith("model: bad: 2 errors")
    assert text.count("error blob-unknown: ") == 1
    assert text.count(f"hint: {CODES['blob-unknown'].remedy}") == 1
    assert "… and 1 more" in "\n".join(check(BAD).lines(limit=1))


def test_json() -> None:
    report = check(BAD)
    told = json.loads(report.to_json())
    assert told["schema"] == "pippin.check/1"
    assert told["ok"] is False
    assert told["type"] == "neuralNetwork"
    assert told["specificationVersion"] == 4
    assert [finding["code"] for finding in told["findings"]] == [finding.code for finding in report.findings]
    assert set(told["findings"][0]) >= {"code", "severity", "where", "field", "message", "required", "found", "hint"}


def test_report_can_be_pickled_and_equals_itself() -> None:
    report = check(BAD)
    assert pickle.loads(pickle.dumps(report)) == report == check(BAD)


def test_sources(tmp_path: Path) -> None:
    path = tmp_path / "a.mlmodel"
    path.write_bytes(BAD)
    by_path = check(path)
    assert by_path.name == "a.mlmodel"
    assert by_path.findings == check(str(path)).findings == check(BAD).findings
    with path.open("rb") as file:
        assert check(file).findings == by_path.findings
    document = read(path)
    assert check(document).findings == check_document(document).findings == by_path.findings


def test_a_path_to_nothing_raises(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no such file"):
        check(tmp_path / "none.mlmodel")


def test_values_of_a_file_never_flood_a_message() -> None:
    assert len(show("x" * 10_000)) < 100
    assert show(range(10_000)) == "[0, 1, 2, 3, 4, 5, 6, 7, …]"
    name = "n" * 100_000
    report = check(Net(layers=(layer("erf", name, "y"),)).build().SerializeToString())
    assert all(len(str(finding)) < 500 for finding in report.findings)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    (tmp_path / "good.mlmodel").write_bytes(GOOD)
    (tmp_path / "deep" / "bad.mlmodel").write_bytes(BAD)
    (tmp_path / "note.txt").write_text("no model")
    return tmp_path


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(cli, ["check", *map(str, arguments)])


def test_exit_codes(folder: Path) -> None:
    assert run(folder / "good.mlmodel").exit_code == 0
    assert run(folder / "deep/bad.mlmodel").exit_code == 1
    assert run(folder).exit_code == 1
    assert run().exit_code == 2
    assert run(folder / "none.mlmodel").exit_code == 2
    (folder / "empty").mkdir()
    nothing = run(folder / "empty")
    assert nothing.exit_code == 2
    assert "no models" in nothing.stderr
    assert run(folder / "note.txt").exit_code == 1


def test_strict_counts_warnings(tmp_path: Path) -> None:
    path = tmp_path / "a.mlmodel"
    path.write_bytes(net(layer("cumSum"), version=4)().SerializeToString())
    assert run(path).exit_code == 0
    assert run(path, "--strict").exit_code == 1


def test_text(folder: Path) -> None:
    result = run(folder)
    assert f"{folder}/deep/bad.mlmodel: bad: 2 errors" in result.stdout
    assert f"{folder}/good.mlmodel: good: nothing found" in result.stdout
    assert "\x1b" not in result.stdout
    assert "2 models: 1 good, 1 bad" in result.stderr
    quiet = run(folder, "--quiet")
    assert quiet.stdout == f"{folder}/deep/bad.mlmodel: bad: 2 errors\n"
    assert quiet.stderr == ""


def test_json_is_one_object_a_file(folder: Path) -> None:
    for arguments in (("--json",), ("--format", "json")):
        lines = run(folder, *arguments).stdout.splitlines()
        objects = [json.loads(line) for line in lines]
        assert [Path(entry["file"]).name for entry in objects] == ["bad.mlmodel", "good.mlmodel"]
        assert all(entry["schema"] == "pippin.check/1" for entry in objects)


def test_github(folder: Path) -> None:
    lines = run(folder / "deep/bad.mlmodel", "--format", "github").stdout.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("::error file=")
    assert ",title=blob-unknown::layer 1 'erf z' (erf): input[0] must" in lines[0]
    assert "%0Ahint: Sort the layers" in lines[0]
    name = Net(layers=(layer("erf", "a,b:c%\n", "y"),)).build().SerializeToString()
    (line, *_) = to_github("x,y:z.mlmodel", check(name))
    assert line.startswith("::error file=x%2Cy%3Az.mlmodel,")
    assert "\n" not in line


def test_sarif(folder: Path) -> None:
    log = json.loads(run(folder, "--format", "sarif").stdout)
    assert log["version"] == "2.1.0"
    (only,) = log["runs"]
    rules = only["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["blob-unknown"]
    assert len(only["results"]) == 2
    result = only["results"][0]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["level"] == "error"
    location = result["locations"][0]
    assert location["physicalLocation"]["artifactLocation"]["uri"].endswith("deep/bad.mlmodel")
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "layer 1 'erf z' (erf)"
    assert to_sarif([("a b.mlmodel", check(BAD))])["runs"][0]["results"][0]["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20b.mlmodel"}
    }


def test_packages_are_checked_whole(tmp_path: Path) -> None:
    inside = tmp_path / "m.mlpackage" / "Data" / "com.apple.CoreML"
    inside.mkdir(parents=True)
    (inside / "model.mlmodel").write_bytes(GOOD)
    manifest = {
        "rootModelIdentifier": "one",
        "itemInfoEntries": {"one": {"path": "com.apple.CoreML/model.mlmodel"}},
    }
    (tmp_path / "m.mlpackage" / "Manifest.json").write_text(json.dumps(manifest))
    result = run(tmp_path)
    assert result.exit_code == 0
    assert result.stdout == f"{tmp_path}/m.mlpackage: good: nothing found\n"


def test_starting_imports_nothing_heavy(folder: Path) -> None:
    """Without the tries of shapes a check needs neither onnx nor onnxruntime."""
    code = (
        "import sys; from pippin.coreml.check import check;"
        f"check({str(folder / 'deep/bad.mlmodel')!r});"
        "print([m for m in ('onnx', 'onnxruntime', 'numpy') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_several_inputs_are_named_one_by_one() -> None:
    features = (array("a", dtype=0), array("b", dtype=0))
    report = check(net(layer("addBroadcastable", "a b"), inputs=features)().SerializeToString())
    assert [f.where for f in report.findings if f.code == "array-data-type"] == ["input 'a'", "input 'b'"]
