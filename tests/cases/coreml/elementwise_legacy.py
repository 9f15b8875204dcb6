"""Rows of unary, add, multiply, average, max, min, scale, bias and dot."""
# ruff: noqa: E501 - one row a line

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from cases import Case, half, linear, lookup, normal

unary = partial(Case, "unary")
scale = partial(Case, "scale")
bias = partial(Case, "bias")
dot = partial(Case, "dot")

# each function with inputs that it takes and what it makes of them
POSITIVE = np.array([0.25, 1.0, 2.0, 9.0])
ANY = np.array([-2.0, -0.5, 0.5, 3.0])
FUNCTIONS: list[tuple[str, str, dict[str, Any], Any, Any]] = [
    ("SQRT", "", {}, POSITIVE, np.sqrt(POSITIVE)),
    ("SQRT", "of zero", {}, np.zeros(2), np.zeros(2)),
    ("RSQRT", "epsilon 0 is 1e-6", {}, np.array([0.0, 3e-6]), [1000, 500]),
    ("RSQRT", "epsilon", {"epsilon": 0.75}, np.array([0.25, 3.25, 8.25]), [1, 0.5, 1 / 3]),
    ("INVERSE", "epsilon 0 is 1e-6", {}, np.array([0.0, 3e-6]), [1e6, 250000]),
    ("INVERSE", "epsilon", {"epsilon": 0.5}, ANY + 0.5, [-1, 2, 2 / 3, 0.25]),
    ("POWER", "alpha 3, negative base", {"alpha": 3.0}, ANY, ANY**3),
    ("POWER", "alpha 2", {"alpha": 2.0}, ANY, ANY**2),
    ("POWER", "alpha 0: ones", {}, ANY, np.ones(4)),
    ("POWER", "alpha -1", {"alpha": -1.0}, ANY, 1 / ANY),
    ("POWER", "alpha 0.5", {"alpha": 0.5}, POSITIVE, np.sqrt(POSITIVE)),
    ("POWER", "alpha 1.5", {"alpha": 1.5}, POSITIVE, POSITIVE**1.5),
    ("EXP", "", {}, ANY, np.exp(ANY)),
    ("LOG", "", {}, POSITIVE, np.log(POSITIVE)),
    ("ABS", "", {}, ANY, np.abs(ANY)),
    ("THRESHOLD", "alpha 0", {}, ANY, [0, 0, 0.5, 3]),
    ("THRESHOLD", "alpha -1", {"alpha": -1.0}, ANY, [-1, -0.5, 0.5, 3]),
    ("THRESHOLD", "alpha 1", {"alpha": 1.0}, ANY, [1, 1, 1, 3]),
]
NAMES = ("SQRT", "RSQRT", "INVERSE", "POWER", "EXP", "LOG", "ABS", "THRESHOLD")
SPREAD = np.abs(normal(2, 3, 2, 2, 2)) + 0.1

UNARY = [
    unary(f"{name}{', ' if note else ''}{note}", {"type": name, **params}, (x,), expect=(y,))
    for name, note, params, x, y in FUNCTIONS
] + [
    unary(f"{name}, scale and shift", {"type": name, "alpha": 1.25, "scale": 2.0, "shift": 0.5, "epsilon": 0.125}, (POSITIVE,)) for name in NAMES
] + [
    unary(f"{name}, legacy, sequence and batch", {"type": name, "alpha": 2.0}, (SPREAD,), rank5=True) for name in NAMES
] + [
    unary("scale 0 is 1", {"type": "ABS", "scale": 0.0, "shift": 1.0}, (ANY,), expect=(np.abs(ANY + 1),)),
    unary("negative scale, then maximum", {"type": "THRESHOLD", "alpha": -6.0, "scale": -1.0}, ([5.0, 7.0],), expect=([-5, -6],)),
    unary("rank 0", {"type": "EXP"}, (np.array(1.5),)),
    unary("rank 1", {"type": "EXP"}, ((4,),)),
    unary("rank 6", {"type": "EXP"}, ((1, 2, 1, 3, 1, 2),)),
    unary("unknown type", {"type": 8}, (POSITIVE,), refuses="type"),
    unary("no input", {"type": "EXP"}, (), refuses="input"),
]  # fmt: skip

OPERATIONS = ("add", "multiply", "average", "max", "min")
KNOWN = {"add": [11, 18], "multiply": [24, 60], "average": [11 / 3, 6], "max": [6, 10], "min": [1, 2]}
SHAPES: dict[str, tuple[Any, ...]] = {
    "two of rank 1": ((4,), (4,)),
    "two of rank 3": ((2, 3, 4), (2, 3, 4)),
    "three of rank 4": ((2, 3, 2, 2), (2, 3, 2, 2), (2, 3, 2, 2)),
    "five": ((2, 3),) * 5,
    "[B,1,1,1]": ((2, 3, 4, 5), (2, 1, 1, 1)),
    "[B,C,1,1]": ((2, 3, 4, 5), (2, 3, 1, 1)),
    "[B,1,H,W]": ((2, 3, 4, 5), (2, 1, 4, 5)),
    "smaller first": ((2, 3, 1, 1), (2, 3, 4, 5)),
    "both grow": ((2, 3, 1, 1), (2, 1, 4, 5)),
    "all four": ((2, 1, 1, 1), (2, 3, 1, 1), (2, 1, 4, 5), (2, 3, 4, 5)),
    "rank 5": ((2, 1, 2, 3, 2), (2, 1, 2, 1, 1)),
}
LEGACY: dict[str, tuple[Any, ...]] = {
    "legacy, two": ((1, 2, 3, 2, 2), (1, 2, 3, 2, 2)),
    "legacy, sequence and batch, three": ((2, 3, 2, 1, 2),) * 3,
    "legacy, [C,1,1]": ((1, 2, 3, 2, 2), (1, 2, 3, 1, 1)),
    "legacy, [1,H,W] first": ((1, 2, 1, 2, 2), (1, 2, 3, 2, 2)),
    "legacy, one instance for all": ((1, 3, 2, 2, 2), (1, 1, 2, 2, 2)),
}

ELEMENTWISE = [
    Case(kind, note, {}, shapes) for kind in OPERATIONS for note, shapes in SHAPES.items()
] + [
    Case(kind, note, {}, shapes, rank5=True) for kind in OPERATIONS for note, shapes in LEGACY.items()
] + [
    Case(kind, "three, known answer", {}, ([1.0, 10.0], [4.0, 2.0], [6.0, 6.0] if kind != "multiply" else [6.0, 3.0]), expect=(answer,))
    for kind, answer in KNOWN.items()
] + [
    Case("max", "negative values, known answer", {}, ([-1.0, -5.0], [-3.0, -2.0]), expect=([-1, -2],)),
    Case("min", "negative values, known answer", {}, ([-1.0, -5.0], [-3.0, -2.0]), expect=([-3, -5],)),
    Case("add", "alpha, known answer", {"alpha": 1.5}, ([1.0, -2.0],), expect=([2.5, -0.5],)),
    Case("add", "one input, nothing set: as it is", {}, ((2, 3),)),
    Case("add", "alpha is ignored with two inputs", {"alpha": 5.0}, ([1.0], [2.0]), expect=([3.0],)),
    Case("add", "alpha, legacy, sequence", {"alpha": -0.5}, ((2, 1, 3, 2, 2),), rank5=True),
    Case("multiply", "alpha, known answer", {"alpha": -1.5}, ([1.0, -2.0],), expect=([-1.5, 3],)),
    Case("multiply", "one input, nothing set: zeros", {}, ((2, 3),), expect=(np.zeros((2, 3)),)),
    Case("multiply", "alpha is ignored with two inputs", {"alpha": 5.0}, ([3.0], [2.0]), expect=([6.0],)),
    Case("multiply", "alpha, legacy, batch", {"alpha": 2.0}, ((1, 2, 3, 2, 2),), rank5=True),
] + [
    Case(kind, "no input", {}, (), refuses="input") for kind in OPERATIONS
] + [
    Case(kind, "shapes that do not broadcast", {}, ((2, 3, 4), (2, 2, 4)), refuses="shapes") for kind in OPERATIONS
]  # fmt: skip


def weighted(shape: tuple[int, ...], values: Any = None, **more: Any) -> dict[str, Any]:
    """Parameters of a scale layer."""
    return {"shapeScale": shape, "scale": normal(*shape) if values is None else values} | more


# [C,H,W] = [3,2,4]
FORMS = {
    "[1]": (1,),
    "[C]": (3,),
    "[1,H,W]": (1, 2, 4),
    "[C,H,W]": (3, 2, 4),
    "[C,1,1]": (3, 1, 1),
    "[1,1,1]": (1, 1, 1),
}
PLANES = {"rank 3": (3, 2, 4), "rank 4": (2, 3, 2, 4), "rank 5": (2, 1, 3, 2, 4)}

SCALE = [
    scale(f"{form}, {note}", weighted(shape), (x,)) for form, shape in FORMS.items() for note, x in PLANES.items()
] + [
    scale(f"scale [C], bias {form}", weighted((3,), hasBias=True, shapeBias=shape, bias=normal(*shape, seed=9)), ((2, 3, 2, 4),))
    for form, shape in FORMS.items()
] + [
    scale("known answer", weighted((1,), np.array([5.0]), hasBias=True, shapeBias=(1,), bias=np.array([45.0])), (np.arange(4).reshape(1, 2, 2),), expect=([[[45, 50], [55, 60]]],)),
    scale("as many channels as columns: [C] runs along the channels", weighted((2,), np.array([1.0, 10.0])), (np.arange(1, 5).reshape(2, 1, 2),), expect=([[[1, 2]], [[30, 40]]],)),
    scale("hasBias off: bias is ignored", weighted((3,), shapeBias=(3,), bias=normal(3)), ((3, 2, 4),)),
    scale("legacy, batch", weighted((3,), hasBias=True, shapeBias=(1, 2, 4), bias=normal(1, 2, 4)), ((1, 2, 3, 2, 4),), rank5=True),
    scale("legacy, sequence and batch", weighted((3, 2, 4)), ((2, 2, 3, 2, 4),), rank5=True),
    scale("float16", weighted((3,), half(normal(3)), hasBias=True, shapeBias=(3,), bias=half(normal(3))), ((2, 3, 2, 2),)),
    scale("8 bit linear, one scale", weighted((3,), linear([0, 100, 255], 8, 0.01, -1.0)), ((3, 2, 2),)),
    scale("4 bit linear, a scale for each channel", weighted((3, 1, 2), linear(np.arange(6), 4, [0.5, 1.0, 2.0], [0.0, -1.0, 1.0])), ((3, 1, 2),)),
    scale("2 bit table", weighted((3,), lookup([0, 3, 1], 2, normal(4))), ((3, 2, 2),)),
    scale("no shapeScale", {"scale": normal(3)}, ((3, 2, 4),), refuses="shapeScale"),
    scale("shapeScale of length 2", weighted((2, 4)), ((3, 2, 4),), refuses="shapeScale"),
    scale("shapeScale does not fit the input", weighted((4,)), ((3, 2, 4),), refuses="shapeScale"),
    scale("too few values", weighted((3,), normal(2)), ((3, 2, 4),), refuses="scale"),
    scale("shapeBias of length 2", weighted((3,), hasBias=True, shapeBias=(2, 4), bias=normal(8)), ((3, 2, 4),), refuses="shapeBias"),
    scale("no bias though hasBias", weighted((3,), hasBias=True, shapeBias=(3,)), ((3, 2, 4),), refuses="bias"),
    scale("rank 2", weighted((1,)), ((3, 4),), refuses="rank"),
]  # fmt: skip

BIAS = [
    bias(f"{form}, {note}", {"shape": shape, "bias": normal(*shape)}, (x,)) for form, shape in FORMS.items() for note, x in PLANES.items()
] + [
    bias("known answer", {"shape": (1, 2, 2), "bias": np.arange(5, 9)}, (np.arange(4).reshape(1, 2, 2),), expect=([[[5, 7], [9, 11]]],)),
    bias("legacy, batch", {"shape": (3,), "bias": normal(3)}, ((1, 2, 3, 2, 4),), rank5=True),
    bias("legacy, sequence and batch", {"shape": (1, 2, 4), "bias": normal(8)}, ((2, 2, 3, 2, 4),), rank5=True),
    bias("float16", {"shape": (3,), "bias": half(normal(3))}, ((2, 3, 2, 2),)),
    bias("8 bit linear", {"shape": (3,), "bias": linear([0, 100, 255], 8, 0.01, -1.0)}, ((3, 2, 2),)),
    bias("2 bit table", {"shape": (3,), "bias": lookup([0, 3, 1], 2, normal(4))}, ((3, 2, 2),)),
    bias("shape of length 2", {"shape": (2, 4), "bias": normal(8)}, ((3, 2, 4),), refuses="shape"),
    bias("shape does not fit the input", {"shape": (4,), "bias": normal(4)}, ((3, 2, 4),), refuses="shape"),
    bias("too few values", {"shape": (3,), "bias": normal(2)}, ((3, 2, 4),), refuses="bias"),
    bias("rank 2", {"shape": (1,), "bias": normal(1)}, ((3, 4),), refuses="rank"),
]  # fmt: skip

COSINE = {"cosineSimilarity": True}
DOT = [
    dot(f"{'cosine' if params else 'product'}, {note}", params, (shape, shape), rank5=note.startswith("legacy"))
    for params in ({}, COSINE)
    for note, shape in (("rank 3", (5, 1, 1)), ("rank 4", (3, 5, 1, 1)), ("rank 5", (2, 3, 5, 1, 1)), ("legacy, batch", (1, 3, 5, 1, 1)), ("legacy, sequence and batch", (2, 3, 5, 1, 1)))
] + [
    dot("product, known answer", {}, (np.array([1.0, 2, 3]).reshape(3, 1, 1), np.array([4.0, 5, 6]).reshape(3, 1, 1)), expect=([[[32.0]]],)),
    dot("cosine, known answer", COSINE, (np.array([3.0, 4]).reshape(2, 1, 1), np.array([1.0, 0]).reshape(2, 1, 1)), expect=([[[0.6]]],)),
    dot("cosine of parallel vectors", COSINE, (np.array([3.0, 4]).reshape(2, 1, 1), np.array([-6.0, -8]).reshape(2, 1, 1)), expect=([[[-1.0]]],)),
    dot("cosine with a zero vector is 0", COSINE, (np.zeros((3, 1, 1)), np.ones((3, 1, 1))), expect=([[[0.0]]],)),
    dot("one channel", {}, ((2, 1, 1, 1), (2, 1, 1, 1))),
    dot("one input", {}, ((3, 1, 1),), refuses="input"),
    dot("rank 2", {}, ((3, 1), (3, 1)), refuses="rank"),
]  # fmt: skip

CASES = UNARY + ELEMENTWISE + SCALE + BIAS + DOT
