"""Random sequences of edits: what comes out is valid, answers as promised, and reads back as it was written.

PIPPIN_SEQUENCES sets how many of them run on the real files (default: 12; 200 take about ten minutes).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pippin
from editkit import OPERATIONS, sequence
from make import dense, network, picture_network, updatable
from mutants import mutants
from pippin.coreml import schema
from pippin.coreml.edit import Editor
from pippin.coreml.read import read
from pippin.errors import PippinError
from shared import SHARED, needs_shared

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
COUNT = int(os.environ.get("PIPPIN_SEQUENCES", "12"))
MEMORY = 1_000_000_000


def prove(edit: Editor, told: list[str]) -> None:
    """All that must hold after a sequence."""
    report = "\n".join(told)
    before = {finding.code for finding in Editor(edit.state(0)).check().errors}
    after = {finding.code for finding in edit.check().errors}
    assert after <= before, f"{report}\n{edit.check()}"
    proof = edit.prove(seeds=(1,), max_memory=MEMORY)
    assert proof.ok, f"{report}\n{proof}"
    again = read(edit.to_bytes())
    assert again.model.SerializeToString(deterministic=True) == _rest(edit), report
    assert pippin.edit(edit.to_bytes()).to_bytes() == edit.to_bytes(), report
    str(edit)


def _rest(edit: Editor) -> bytes:
    """The model without its weights, with their numbers as a file that is read anew has them."""
    return read(edit.to_bytes()).model.SerializeToString(deterministic=True)


def small_models() -> dict[str, Callable[[], Any]]:
    """Networks of all sorts that run in no time."""
    convolution = {"outputChannels": 3, "kernelChannels": 3, "kernelSize": [1, 1], "valid": {},
                   "weights": [0.1 * i for i in range(9)], "hasBias": True, "bias": [1.0, 2.0, 3.0]}  # fmt: skip
    chain = [
        ("activation", {"linear": {"alpha": 1}}, ["image"], ["a"]),
        ("convolution", convolution, ["a"], ["b"]),
        ("activation", {"tanh": {}}, ["b"], ["c"]),
        ("add", {}, ["c", "b"], ["d"]),
        ("activation", {"ReLU": {}}, ["d"], ["unused"]),
        ("scale", {"shapeScale": [1], "scale": [2.0]}, ["d"], ["y"]),
    ]
    exact = [
        ("tanh", {}, ["x"], ["h"]),
        ("transpose", {"axes": [0, 1, 2, 3]}, ["h"], ["i"]),
        ("splitND", {"numSplits": 3, "axis": 1}, ["i"], ["r", "g", "b"]),
        ("concatND", {"axis": 1}, ["b", "g", "r"], ["y"]),
    ]
    layers = [("innerProduct", dense([[1, 2], [3, 4]]), ["x"], ["h"]), ("innerProduct", dense([[2, 1]]), ["h"], ["y"])]
    two = [("embeddingND", {"vocabSize": 4, "embeddingSize": 3, "weights": [0.5] * 12}, ["i"], ["e"]),
           ("addBroadcastable", {}, ["e", "x"], ["y"])]  # fmt: skip
    return {
        "two inputs": lambda: network(two, {"i": [1, 1], "x": [1, 3]}, ["y"], version=4),
        "pictures": lambda: picture_network(chain, version=3),
        "exact": lambda: network(exact, {"x": [1, 3, 4, 6]}, ["y"], version=4),
        "updatable": lambda: updatable(network(layers, {"x": [2]}, ["y"], exact=False)),
    }


MODELS = small_models()


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("name", MODELS)
def test_small_networks(name: str, seed: int) -> None:
    edit = pippin.edit(MODELS[name]().SerializeToString())
    prove(edit, sequence(edit, seed))


@pytest.mark.parametrize("seed", range(12))
def test_the_examples(seed: int) -> None:
    edit = pippin.edit(EXAMPLES / ("digits.mlmodel" if seed % 2 else "digits-4bit.mlmodel"))
    prove(edit, sequence(edit, seed))


def test_every_kind_of_edit_is_made() -> None:
    done = set()
    for name in MODELS:
        for seed in range(40):
            told = sequence(pippin.edit(MODELS[name]().SerializeToString()), seed)
            done |= {line.split(":")[0] for line in told if " refused: " not in line}
    for seed in range(12):
        told = sequence(pippin.edit(EXAMPLES / "digits.mlmodel"), seed)
        done |= {line.split(":")[0] for line in told if " refused: " not in line}
    assert done == set(OPERATIONS)


FILES = sorted((SHARED / "models").glob("*.mlmodel"), key=lambda path: (path.stat().st_size, path.name))


@needs_shared
@pytest.mark.parametrize("seed", range(COUNT))
def test_real_files(seed: int) -> None:
    edit = pippin.edit(FILES[seed % len(FILES)])
    prove(edit, sequence(edit, 1000 + seed))


@pytest.mark.parametrize("part", range(4))
def test_broken_models_raise_errors_of_our_own(part: int) -> None:
    """Edits of models whose fields are nonsense: they succeed or say no, whatever the file holds."""
    originals = [build() for build in MODELS.values()]
    originals += [schema.Model.FromString((EXAMPLES / "digits.mlmodel").read_bytes())]
    for seed, (what, model) in enumerate(mutants(originals, 60, seed=part)):
        try:
            edit = pippin.edit(model.SerializeToString())
        except PippinError:
            continue
        for index in range(3):
            try:
                sequence(edit, 10 * seed + index, 3)
                edit.prove(seeds=(0,), max_memory=10_000_000)
                str(edit)
            except PippinError:
                pass
            except Exception as error:
                raise AssertionError(f"{what}: {edit.steps}") from error
            edit.undo(len(edit.steps))
