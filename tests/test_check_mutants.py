"""Broken models never break ``check``: no crash, no hang, nothing raised that is not ours."""

from __future__ import annotations

import importlib
import math
import os
import pkgutil
import time
import zipfile
from typing import Any

import numpy as np

import cases.coreml
import pippin
import test_check_training
from checkkit import layer, net
from mutants import damaged, mutants
from pippin.coreml import schema
from pippin.coreml.check import check
from pippin.coreml.read import NETWORKS
from shared import SHARED, needs_shared
from test_check_layers import GOOD as LAYERS

FULL = int(os.environ.get("PIPPIN_MUTANTS", "0"))
"""How many mutants to make of each lot; the short form when it is not set."""
LONGEST = 10.0
"""Seconds that a small broken model may take."""


def built() -> list[Any]:
    """One sound model of every layer kind, and some that train, branch and loop."""
    models: dict[str, Any] = {}
    for module in pkgutil.iter_modules(cases.coreml.__path__):
        for case in getattr(importlib.import_module(f"cases.coreml.{module.name}"), "CASES", []):
            if case.refuses is None and case.model().ByteSize() < 20_000:
                models.setdefault(case.kind, case.model())
    extra = {**LAYERS, **test_check_training.GOOD, "plain": net()}
    return [*models.values(), *(build() for build in extra.values())]


def survive(models: list[Any], count: int, seed: int) -> int:
    """Checks ``count`` mutants; returns how many of them are good."""
    good = 0
    for label, model in mutants(models, count, seed):
        start = time.perf_counter()
        try:
            report = check(model.SerializeToString())
            report.to_json()
            good += report.ok
        except Exception as error:
            raise AssertionError(f"{label}: {error!r}") from error
        taken = time.perf_counter() - start
        assert taken < LONGEST, f"{label}: {taken:.1f} s"
    return good


def test_mutants() -> None:
    count = FULL or 1500
    good = survive(built(), count, seed=1)
    assert 0 < good < count


@needs_shared
def test_mutants_of_the_corpus() -> None:
    with zipfile.ZipFile(SHARED / "corpus" / "checker.zip") as archive:
        names = [name for name in archive.namelist() if name.startswith(("builder/", "tests/"))]
        models = [schema.message("Model").FromString(archive.read(name)) for name in names if name.endswith("model")]
    count = FULL or 500
    good = survive(models, count, seed=2)
    assert 0 < good < count


def feed(model: pippin.Model) -> dict[str, Any] | None:
    """Zeros for every input; None where that is more than a test should run."""
    data: dict[str, Any] = {}
    for name, entry in model.inputs.items():
        if entry.kind == "image":
            assert entry.size is not None
            shape: tuple[int, ...] = (*entry.size[::-1], *([] if "GRAY" in (entry.color or "") else [3]))
        else:
            shape = tuple(size or 1 for size in entry.shape or ())
        if math.prod(shape) > 1_000_000:
            return None
        data[name] = np.zeros(shape, np.uint8 if entry.kind == "image" else np.float32)
    return data


def test_good_mutants_run_or_say_where_they_cannot() -> None:
    ran = 0
    for label, model in mutants(built(), FULL or 400, seed=3):
        content = model.SerializeToString()
        report = check(content, fit=False, values=False)
        if not report.ok or report.type not in NETWORKS:
            continue
        try:
            loaded = pippin.load(content)
            data = feed(loaded)
            if data is not None:
                loaded.predict(data, timeout=LONGEST)
                ran += 1
        except pippin.PippinError as error:
            if not any(word in str(error) for word in ("layer", "input", "output", "class labels")):
                raise AssertionError(f"{label}: {error}") from error
        except Exception as error:
            raise AssertionError(f"{label}: {error!r}") from error
    assert ran > 50


def test_damaged_bytes() -> None:
    contents = [model.SerializeToString() for model in built()]
    for seed in range(FULL or 1000):
        check(damaged(contents[seed % len(contents)], seed))


def test_long_files_are_bounded_in_time_and_memory() -> None:
    chain = [layer("activation", f"b{index}", f"b{index + 1}", ReLU={}) for index in range(30_000)]
    chain[0]["input"] = ["x"]
    wild = [layer("erf", " ".join(f"no{index}" for index in range(20_000)), "y")]
    losses = [{"name": "l", "meanSquaredErrorLossLayer": {"input": "y", "target": "t"}}] * 20_000
    update = {"network": {"updateParams": {"lossLayers": losses}}, "updatable": True}
    for build, code in (
        (net(*chain), "sizes-not-tried"),
        (net(*wild), "blob-unknown"),
        (net(*chain[:20_000], **update), "update-loss-count"),
    ):
        content = build().SerializeToString()
        start = time.perf_counter()
        report = check(content)
        assert time.perf_counter() - start < LONGEST
        assert code in {finding.code for finding in report.findings}
        assert len(report.findings) < 10_000
    assert sum(report.left_out.values()) > 10_000
    assert "more" in str(report)
