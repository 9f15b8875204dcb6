"""Torch modules that coremltools converted: the answers are torch's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pippin

FOLDER = Path(__file__).parent / "fixtures/torch_models"
NAMES = sorted(path.stem for path in FOLDER.glob("*.mlmodel"))


def test_there_are_fixtures() -> None:
    assert len(NAMES) >= 6


@pytest.mark.parametrize("name", NAMES)
def test_equal_to_torch(name: str) -> None:
    known = np.load(FOLDER / f"{name}.npz")
    answer = pippin.load(FOLDER / f"{name}.mlmodel").predict({"x": known["x"]})["y"]
    assert answer.shape == known["y"].shape
    scale = np.abs(known["y"]).max()
    np.testing.assert_allclose(answer, known["y"], rtol=1e-4, atol=1e-5 * scale)
