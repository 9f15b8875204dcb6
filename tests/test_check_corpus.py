"""``check`` against the verdicts of Apple's own validator, and its speed, on other people's files."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import pippin
from checkkit import Net, array, layer
from pippin.coreml.check import check
from pippin.coreml.check.pipelines import PIPELINES
from pippin.coreml.read import NETWORKS
from pippin.coreml.wire import View, splice
from shared import SHARED, needs_shared

CORPUS = SHARED / "corpus"
JUDGED = {*NETWORKS, *PIPELINES, "kNearestNeighborsClassifier", None}
"""The model types whose inside is judged."""
DIFFERENT: dict[str, str] = {}
"""Files where the verdict differs on purpose, each with the reason. There are none."""
SHAPES = "POTENTIALLY_INVALID_NEURAL_NETWORK_SHAPES"


@cache
def rows() -> dict[str, dict[str, str]]:
    with (CORPUS / "checker.tsv").open(newline="", encoding="utf-8") as file:
        return {row["file"]: row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}


def files() -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(CORPUS / "checker.zip") as archive:
        for name in rows():
            yield name, archive.read(name)


@needs_shared
def test_verdicts() -> None:
    wrong = []
    judged = 0
    for name, content in files():
        report = check(content, fit=False)
        good = rows()[name]["verdict"] == "good"
        if report.type not in JUDGED:
            # the description alone is judged: what is good has to pass, what is bad may
            assert report.ok or not good, f"{name}: {report}"
            continue
        judged += 1
        if report.ok != good and name not in DIFFERENT:
            wrong.append(f"{name}: {rows()[name]['verdict']}, {rows()[name]['message']}\n{report}")
    assert not wrong, "\n".join(wrong[:20])
    assert judged > 4800


@needs_shared
def test_shape_warnings() -> None:
    """Contradicting shapes on five axes are found where Apple's shape inference finds them, and nowhere else."""
    for name, content in files():
        row = rows()[name]
        if row["verdict"] == "good":
            found = any(finding.code == "shape-conflict" for finding in check(content, fit=False).findings)
            assert found == (row["resultType"] == SHAPES), name


@needs_shared
def test_models_in_the_wild() -> None:
    """Every model that Apple accepts is good; the one that it does not is told apart from what cannot be loaded."""
    for path in sorted((SHARED / "models").glob("*.mlmodel")):
        report = check(path)
        assert report.ok == (path.name != "kraken-bilstm.mlmodel"), str(report)
        assert not report.fatal, str(report)


@needs_shared
def test_a_model_that_only_apple_refuses() -> None:
    path = SHARED / "models" / "kraken-bilstm.mlmodel"
    report = check(path)
    assert {finding.code for finding in report.errors} == {"rank5-shape", "layer-outputs", "output-not-produced"}
    assert not report.fatal
    (output,) = [finding for finding in report.errors if finding.code == "output-not-produced"]
    assert output.hint == "the last layer writes ['O_5']"
    model = pippin.load(path)
    assert model.report == report
    with pytest.raises(pippin.CheckError, match="breaks 3 rules"):
        pippin.load(path, strict=True)


@needs_shared
def test_malformed_files() -> None:
    for path in (SHARED / "models" / "malformed").glob("*.mlmodel"):
        report = check(path)
        assert report.type in (None, "mlProgram")
        assert report.ok == (report.type == "mlProgram"), str(report)


def test_the_last_of_many_weights_is_looked_at(tmp_path: Path) -> None:
    """100 MB of weights, scanned for NaN and infinities."""
    import numpy as np

    side = 5000
    weights = {"pippinView": [0]}
    model = Net(
        layers=(layer("innerProduct", "x", "y", inputChannels=side, outputChannels=side, weights=weights),),
        inputs=(array("x", (side,)),),
        outputs=(array("y", ()),),
    ).build()
    values = np.ones(side * side, np.float32)
    values[-1] = np.nan
    path = tmp_path / "large.mlmodel"
    path.write_bytes(b"".join(splice(model, [View(1, "float32", memoryview(values).cast("B"))])))
    assert path.stat().st_size > 100_000_000
    report = check(path)
    assert [finding.code for finding in report.findings] == ["weights-not-finite"]
