"""Examples with one field changed: an answer, or an error of our own; no hang, no flood of memory."""

from __future__ import annotations

import contextlib
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import pippin
from mutants import mutate
from pippin.coreml import schema
from pippin.errors import PippinError

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
COUNT = 250
"""Mutants of each example."""


def limit_memory() -> int:
    """The largest resident size so far, in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)


@pytest.mark.parametrize("name", ["digits", "digits-4bit"])
def test_field_mutants(name: str) -> None:
    whole = schema.Model.FromString((EXAMPLES / f"{name}.mlmodel").read_bytes())
    names = [layer.name for layer in whole.neuralNetworkClassifier.layers] + ["image", "digit", ""]
    picture = np.zeros((16, 16), np.uint8)
    before = limit_memory()
    answers = 0
    for seed in range(COUNT):
        model = schema.Model.FromString(whole.SerializeToString())
        what = mutate(model, seed, names)
        try:
            data = model.SerializeToString()
        except ValueError:  # a text that no file can hold
            continue
        start = time.perf_counter()
        with contextlib.suppress(PippinError), warnings.catch_warnings():
            warnings.simplefilter("error")
            net = pippin.load(data)
            given = {key: picture if entry.kind == "image" else 0 for key, entry in net.inputs.items()}
            net.predict(given)
            answers += 1
        assert time.perf_counter() - start < 10, what
    assert limit_memory() - before < 1_000_000
    assert answers > COUNT // 10, "the mutants that change little must still answer"
