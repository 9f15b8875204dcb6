"""Weights in fewer bits and back: values as in NumPy, sizes as the bits say, and coremltools reads the same."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pippin
from cases import Case
from make import add, dense, network, updatable
from pippin.coreml import schema
from pippin.coreml.check import check_document
from pippin.coreml.edit import Editor, kmeans
from pippin.coreml.edit.cut import weight_messages
from pippin.coreml.edit.slots import LAYERS, Slot, slots
from pippin.coreml.read import Document, read
from pippin.coreml.weights import Weights
from pippin.errors import InputError
from shared import SHARED, needs_shared
from test_layers import ROWS

FIXTURES = Path(__file__).parent / "fixtures/quantized"
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
STORED = {"floatValue", "float16Value", "rawValue", "int8RawValue"}


def values(slot: Slot, weights: Weights) -> Any:
    return weights.array(slot.params, slot.shape, axis=0 if slot.axis is None else slot.axis)


def held(document: Document) -> dict[str, tuple[Slot, Any, str]]:
    """Every array of weights of a network by place and field, with its values and how it is stored."""
    weights = Weights(document.views)
    found = slots(document.network, weights, updatable=document.model.isUpdatable)
    return {
        f"{index} {slot.name}": (slot, values(slot, weights), slot.encoding(weights).kind)
        for index, slot in enumerate(found)
    }


def plainly(array: Any, bits: int, axis: Any, symmetric: bool = False) -> Any:
    """Linear quantisation of an array and back, one channel after the other, written down as the docs have it."""
    array = np.asarray(array, np.float32)
    axes = () if axis is None else (axis,) if isinstance(axis, int) else axis
    result = np.empty_like(array)
    for index in itertools.product(*(range(array.shape[a]) for a in axes)):
        at: list[Any] = [slice(None)] * array.ndim
        for a, i in zip(axes, index, strict=True):
            at[a] = i
        part = array[tuple(at)]
        if symmetric:
            scale = np.float32(np.float64(np.abs(part).max()) / (2 ** (bits - 1) - 1)) or np.float32(1)
            bias = -np.float32(2 ** (bits - 1)) * scale
        else:
            spread = np.float64(part.max()) - np.float64(part.min())
            scale, bias = np.float32(spread / (2**bits - 1)) or np.float32(1), np.float32(part.min())
        levels = np.clip(np.rint((part.astype(np.float64) - bias) / np.float64(scale)), 0, 2**bits - 1)
        result[tuple(at)] = levels.astype(np.float32) * scale + bias
    return result


# -- every kind of layer -----------------------------------------------------------------------------------------------


def weighted() -> list[Case]:
    """The rows of layers whose weights are stored as floats."""
    found = []
    for case in ROWS:
        if case.kind in LAYERS and case.refuses is None:
            document = Document(case.model())
            kinds = {slot.encoding(Weights()).kind for slot in slots(document.network, Weights())}
            if kinds and kinds <= {"float32", "float16"}:
                found.append(case)
    return found


WEIGHTED = weighted()
MODES = [(4, "linear", "channel"), (8, "symmetric", "channel"), (3, "linear", "tensor"), (2, "kmeans", "channel"),
         (16, "float16", "channel")]  # fmt: skip


def test_every_kind_with_weights_is_known() -> None:
    def reaches(message: Any) -> bool:
        return any(
            field.message_type is not None
            and field.message_type.name != "NeuralNetwork"
            and (field.message_type.name == "WeightParams" or reaches(field.message_type))
            for field in message.fields
        )

    kinds = schema.layer_kinds()
    # recurrent layers reach the activations of networks, whose learnt numbers they may not have
    assert {kind for kind, name in kinds.items() if reaches(schema.message(name).DESCRIPTOR)} == set(LAYERS)
    assert {case.kind for case in WEIGHTED} >= set(LAYERS) - {"custom"}


def errors(edit: Editor) -> set[str]:
    """The codes of the errors that check finds, without runs."""
    return {finding.code for finding in check_document(edit.document, values=False, fit=False).errors}


@pytest.mark.parametrize("case", WEIGHTED, ids=lambda case: case.id)
def test_values_are_those_of_numpy(case: Case) -> None:
    for bits, mode, per in MODES:
        edit = pippin.edit(case.model().SerializeToString())
        before, known = held(edit.document), errors(edit)
        edit.quantize(bits, mode, per=per, everything=True)  # type: ignore[arg-type]
        assert errors(edit) <= known
        left = {name for names in edit.steps[0].details["left"].values() for name in names}
        after = held(edit.document)
        for name, (slot, array, kind) in after.items():
            _, original, old = before[name]
            if slot.name in left or (mode == "float16" and old == "float16"):
                np.testing.assert_array_equal(array, original)
                assert kind == old
            else:
                np.testing.assert_array_equal(array, quantized(original, slot, bits, mode, per), err_msg=mode)
        # and expanded again: the same values in float32
        edit.expand()
        for name, (_, array, kind) in held(edit.document).items():
            assert kind == "float32"
            np.testing.assert_array_equal(array, after[name][1])
        assert errors(edit) <= known


def quantized(original: Any, slot: Slot, bits: int, mode: str, per: str) -> Any:
    """What the values are to be, in plain NumPy; the table is the one that was stored."""
    if mode == "float16":
        return original.astype(np.float16).astype(np.float32)
    if mode == "kmeans":
        table = np.asarray(slot.params.quantization.lookupTableQuantization.floatValue, np.float32)
        return table[np.abs(original[..., None].astype(np.float64) - table).argmin(-1)]
    axis = slot.axis if per == "channel" and not slot.one_scale else None
    return plainly(original, bits, axis, mode == "symmetric")


@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize("mode", ["linear", "kmeans"])
def test_sizes_are_what_the_bits_say(bits: int, mode: str) -> None:
    weights = np.random.default_rng(bits).standard_normal((37, 11)).astype(np.float32)
    params = {"outputChannels": 37, "inputChannels": 11, "weights": weights}
    model = network([("innerProduct", params, ["x"], ["y"])], {"x": [11]}, ["y"], exact=False)
    edit = pippin.edit(model.SerializeToString())
    empty = len(edit.to_bytes()) - weights.nbytes
    edit.quantize(bits, mode)  # type: ignore[arg-type]
    packed = -(-weights.size * bits // 8)
    numbers = 2 * 37 if mode == "linear" else 2**bits
    (entry,) = edit.steps[0].details["weights"]
    assert entry["bytes_after"] == packed + 4 * numbers
    assert packed + 4 * numbers <= len(edit.to_bytes()) - empty <= packed + 4 * numbers + 40
    stored = edit.document.network.layers[0].innerProduct.weights
    assert sum(Weights(edit.document.views).stored(stored).values()) == packed
    assert edit.document.model.specificationVersion == 5


def test_versions_rise_as_far_as_they_must() -> None:
    model = network([("innerProduct", dense([[1, 2]]), ["x"], ["y"])], {"x": [2]}, ["y"], exact=False, version=1)
    assert pippin.edit(model.SerializeToString()).quantize(16).document.model.specificationVersion == 2
    assert pippin.edit(model.SerializeToString()).quantize(8).document.model.specificationVersion == 3
    assert pippin.edit(model.SerializeToString()).expand().document.model.specificationVersion == 1


# -- what is left as it is ---------------------------------------------------------------------------------------------


def test_biases_and_constants_are_left_unless_asked_for() -> None:
    edit = pippin.edit(EXAMPLES / "digits.mlmodel").quantize(8)
    kinds = {name: kind for name, (_, _, kind) in held(edit.document).items()}
    assert {kind for name, kind in kinds.items() if name.endswith("weights")} == {"linear"}
    assert {kind for name, kind in kinds.items() if name.endswith("bias")} == {"float32"}
    edit = pippin.edit(EXAMPLES / "digits.mlmodel").quantize(8, everything=True)
    assert {kind for _, _, kind in held(edit.document).values()} == {"linear"}


def test_some_layers_only() -> None:
    def packed(**options: Any) -> set[str]:
        edit = pippin.edit(EXAMPLES / "digits.mlmodel").quantize(4, **options)
        return {entry["place"].split("'")[1] for entry in edit.steps[0].details["weights"]}

    assert packed(layers="conv*") == {"conv1", "conv2"}
    assert packed(layers=["innerProduct", "conv1"]) == {"conv1", "dense"}
    assert packed(skip=["conv1"]) == {"conv2", "dense"}
    with pytest.raises(InputError, match="no layer with weights is called 'convolve'"):
        packed(layers=["convolve"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [((9,), "1 to 8 bits"), ((0,), "1 to 8 bits"), ((1, "symmetric"), "2 bits"), ((8, "lookup"), "must be one of")],
)
def test_refusals(arguments: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        pippin.edit(EXAMPLES / "digits.mlmodel").quantize(*arguments)


def test_weights_that_train_are_left() -> None:
    layers = [("innerProduct", dense([[1, 2]]), ["x"], ["h"]), ("innerProduct", dense([[2]]), ["h"], ["y"])]
    model = updatable(network(layers, {"x": [2]}, ["y"], exact=False), layers=[1])
    edit = pippin.edit(model.SerializeToString()).quantize(8)
    assert [entry["place"] for entry in edit.steps[0].details["weights"]] == ["layer 'innerProduct0' (innerProduct)"]
    assert "trained" in "".join(edit.steps[0].notes)
    assert edit.check().ok


def test_float16_where_numbers_are_too_large() -> None:
    """Of a layer whose weights do not fit, nothing is stored so: its arrays must not be mixed."""
    layers = [("innerProduct", dense([[1, 70000]], [1]), ["x"], ["h"]), ("innerProduct", dense([[2]]), ["h"], ["y"])]
    edit = pippin.edit(network(layers, {"x": [2]}, ["y"], exact=False).SerializeToString()).quantize(16)
    assert [entry["place"] for entry in edit.steps[0].details["weights"]] == ["layer 'innerProduct1' (innerProduct)"]
    assert "65504" in "".join(edit.steps[0].notes)
    assert edit.check().ok


def test_what_became_zero_is_told() -> None:
    layers = [("innerProduct", dense([[1, 1e-9, 2e-9]]), ["x"], ["y"])]
    edit = pippin.edit(network(layers, {"x": [3]}, ["y"], exact=False).SerializeToString()).quantize(16)
    (entry,) = edit.steps[0].details["weights"]
    assert entry["vanished"] == 2
    assert "2 values became zero" in "".join(edit.steps[0].notes)


def test_values_that_are_no_numbers_are_left() -> None:
    layers = [("innerProduct", dense([[1, np.nan]]), ["x"], ["y"])]
    edit = pippin.edit(network(layers, {"x": [2]}, ["y"], exact=False).SerializeToString()).quantize(8)
    assert not edit.steps[0].details["weights"]
    assert "not finite" in edit.steps[0].notes[0]


def test_grouped_deconvolutions_have_one_scale() -> None:
    """Their output channels lie on two axes, which tools read differently; what others wrote is read and expanded."""
    weights = np.random.default_rng(0).standard_normal((4, 3, 2, 2)).astype(np.float32)
    params = {"outputChannels": 6, "kernelChannels": 4, "nGroups": 2, "kernelSize": [2, 2], "isDeconvolution": True,
              "valid": {}, "weights": weights}  # fmt: skip
    model = network([("convolution", params, ["x"], ["y"])], {"x": [4, 3, 3]}, ["y"], exact=False)
    edit = pippin.edit(model.SerializeToString()).quantize(8)
    assert len(edit.document.network.layers[0].convolution.weights.quantization.linearQuantization.scale) == 1
    assert edit.check().ok


def test_nested_networks_and_pipelines() -> None:
    model = network([], {"c": [1], "x": [2]}, ["y"], version=4)
    branch = model.neuralNetwork.layers.add(name="branch", input=["c"]).branch
    weights = {"weightMatrixFirstDimension": 2, "weightMatrixSecondDimension": 2, "weights": [1.0, 2.0, 3.0, 4.0]}
    for side in (branch.ifBranch, branch.elseBranch):
        add(side, [("batchedMatmul", weights, ["x"], ["y"])])
    edit = pippin.edit(model.SerializeToString()).quantize(8)
    assert len(edit.steps[0].details["weights"]) == 2
    assert edit.prove().ok
    whole = schema.message("Model")()
    whole.specificationVersion = 1
    whole.pipeline.models.add().CopyFrom(model)
    edit = pippin.edit(whole.SerializeToString()).quantize(8)
    assert len(edit.steps[0].details["weights"]) == 2
    assert edit.document.model.specificationVersion == 3


# -- tables ------------------------------------------------------------------------------------------------------------


def error(values: Any, centres: Any) -> float:
    return float(np.square(values - centres[kmeans.nearest(values, centres)]).sum())


def best(values: Any, count: int) -> float:
    """The least error of any table, by trying all ways to cut the sorted values."""
    ordered = np.sort(values)
    least = np.inf
    for cuts in itertools.combinations(range(1, len(ordered)), count - 1):
        parts = np.split(ordered, cuts)
        least = min(least, sum(float(np.square(part - part.mean()).sum()) for part in parts))
    return least


@pytest.mark.parametrize("seed", range(12))
def test_small_tables_are_the_best(seed: int) -> None:
    random = np.random.default_rng(seed)
    values = random.standard_normal(18) if seed % 2 else np.concatenate([random.normal(m, 0.1, 6) for m in (-3, 0, 5)])
    for bits in (1, 2):
        assert error(values, kmeans.table(values, 1 << bits)) <= best(values, 1 << bits) + 1e-9


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.parametrize("kind", ["laplace", "two heaps", "few", "outlier"])
def test_tables_are_as_good_as_those_of_scikit_learn(kind: str) -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    random = np.random.default_rng(5)
    heaps = np.concatenate([random.normal(-1, 0.01, 600), random.normal(1, 0.3, 600)])
    made = {
        "laplace": random.laplace(size=600),
        "two heaps": heaps,
        "few": random.integers(0, 40, 600) / 7,
        "outlier": np.append(random.standard_normal(600), 100.0),
    }[kind]
    for bits in (2, 6):
        fitted = cluster.KMeans(1 << bits, n_init=1, random_state=0).fit(made[:, None])
        assert error(made, kmeans.table(made, 1 << bits)) <= 1.01 * float(fitted.inertia_) + 1e-9


def test_few_values_lose_nothing() -> None:
    values = np.float32([3, 1, 1, 2, 3])
    table = kmeans.table(values, 4)
    assert table.tolist() == [1, 2, 3, 3]
    np.testing.assert_array_equal(table[kmeans.nearest(values, table)], values)
    assert kmeans.nearest(np.float32([0.5]), np.float32([0, 1])).tolist() == [0]


# -- coremltools -------------------------------------------------------------------------------------------------------


def read_by_us(document: Document) -> dict[str, Any]:
    """The weights of the network by the names that the fixture has."""
    weights = Weights(document.views)
    return {
        f"{slot.layer.name}/{slot.kind}.{slot.field}": values(slot, weights).ravel()
        for slot in slots(document.network, weights)
    }


def recorded(mode: str) -> dict[str, Any]:
    """What coremltools made of a file."""
    with np.load(FIXTURES / "values.npz") as archive:
        parts = np.split(archive[mode], np.cumsum(archive["counts"])[:-1])
        return dict(zip(archive["names"].tolist(), parts, strict=True))


def same(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert ours.keys() == theirs.keys()
    for name, array in theirs.items():
        # coremltools computes in double precision, readers of the format in single
        np.testing.assert_allclose(ours[name], array, rtol=0, atol=2.5e-7 * max(np.abs(array).max(), 1e-9))


THEIRS = [
    "float16",
    "kmeans2",
    "kmeans4",
    "kmeans5",
    "linear1",
    "linear3",
    "linear4",
    "linear6",
    "linear8",
    "symmetric8",
    "table7",
]
OURS: dict[str, dict[str, Any]] = {
    **{f"linear{bits}": {"bits": bits} for bits in range(1, 9)},
    "symmetric8": {"bits": 8, "mode": "symmetric"},
    **{f"kmeans{bits}": {"bits": bits, "mode": "kmeans"} for bits in range(1, 9)},
    "float16": {"bits": 16},
}


def test_the_fixture_is_whole() -> None:
    with np.load(FIXTURES / "values.npz") as archive:
        assert set(archive.files) == {"names", "counts", *THEIRS, *(f"ours-{mode}" for mode in OURS)}
    files = {path.stem for path in FIXTURES.glob("*.mlmodel")}
    assert files == {"float32", *THEIRS, *(f"ours-{mode}" for mode in OURS)}


@pytest.mark.parametrize("mode", THEIRS)
def test_files_of_coremltools_are_read_as_it_reads_them(mode: str) -> None:
    same(read_by_us(read(FIXTURES / f"{mode}.mlmodel")), recorded(mode))
    edit = pippin.edit(FIXTURES / f"{mode}.mlmodel").expand()
    same(read_by_us(edit.document), recorded(mode))
    assert edit.check().ok


@pytest.mark.parametrize("mode", OURS)
def test_coremltools_reads_our_files_as_we_do(mode: str) -> None:
    same(read_by_us(read(FIXTURES / f"ours-{mode}.mlmodel")), recorded(f"ours-{mode}"))
    if not mode.startswith("kmeans"):  # whose tables may differ in the last bit from one NumPy to another
        edit = pippin.edit(FIXTURES / "float32.mlmodel").quantize(everything=True, **OURS[mode])
        assert edit.to_bytes() == (FIXTURES / f"ours-{mode}.mlmodel").read_bytes()


@pytest.mark.parametrize("mode", ["linear3", "linear4", "linear6", "linear8", "symmetric8"])
def test_our_levels_are_those_of_coremltools(mode: str) -> None:
    bits, kind = int(mode[-1]), "symmetric" if mode.startswith("s") else "linear"
    edit = pippin.edit(FIXTURES / "float32.mlmodel").quantize(bits, kind, everything=True)  # type: ignore[arg-type]
    # coremltools has its scales a rounding of single precision apart
    for name, array in recorded(mode).items():
        np.testing.assert_allclose(read_by_us(edit.document)[name], array, rtol=0, atol=1e-6 * np.abs(array).max())


@pytest.mark.skipif(
    importlib.util.find_spec("coremltools") is None, reason="coremltools is not installed; its answers are recorded"
)
@pytest.mark.parametrize("mode", OURS)
def test_coremltools_itself_reads_our_files(mode: str) -> None:
    import sys

    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
    from make_quantized_fixtures import expanded  # type: ignore[import-not-found]

    for model in (FIXTURES / "float32.mlmodel", EXAMPLES / "digits.mlmodel"):
        edit = pippin.edit(model).quantize(everything=model.stem == "float32", **OURS[mode])
        if edit.document.type != "neuralNetwork":
            edit.cut("logits")
        same(read_by_us(edit.document), expanded(edit.to_bytes()))


# -- real files --------------------------------------------------------------------------------------------------------


@needs_shared
def test_a_quantised_network_still_knows_its_food() -> None:
    """The network of ../models with known answers: 8 bits change no label of a sample, 4 bits few."""
    model = pippin.load(SHARED / "models/food-f32.mlmodel")
    pictures = sorted((SHARED / "models/inputs/food").glob("*/*"))[::14]
    from pippin.coreml.pictures import fitted

    given = [{"data": fitted(path, model.inputs["data"], "crop")} for path in pictures]
    wanted = [answer["classLabel"] for answer in model.predict(given)]
    for bits, mode, most in ((8, "linear", 0), (16, "float16", 0), (6, "kmeans", 2)):
        edit = pippin.edit(SHARED / "models/food-f32.mlmodel").quantize(bits, mode)  # type: ignore[arg-type]
        found = [answer["classLabel"] for answer in edit.load().predict(given)]
        assert sum(a != b for a, b in zip(found, wanted, strict=True)) <= most


def test_marks_and_unknown_fields_of_weights_stay() -> None:
    model = network([("innerProduct", dense([[1, 2, 3]]), ["x"], ["y"])], {"x": [3]}, ["y"], exact=False)
    params = model.neuralNetwork.layers[0].innerProduct.weights
    params.isUpdatable = True
    params.MergeFromString(b"\xc2\x3e\x03abc")  # field 600, which nobody knows
    edit = pippin.edit(model.SerializeToString()).quantize(4).expand()
    ((_, after),) = weight_messages(edit.document.network.layers[0].innerProduct)
    assert after.isUpdatable
    assert b"\xc2\x3e\x03abc" in after.SerializeToString()
    assert b"\xc2\x3e\x03abc" in edit.to_bytes()


@pytest.mark.parametrize("words", [(1, "linear"), (4, "linear"), (2, "symmetric"), (8, "symmetric")])
@pytest.mark.filterwarnings("error")
def test_values_whose_levels_float32_could_not_hold_are_left(words: Any) -> None:
    weights = np.float32([[3.4e38, -3.4e38], [1.0, 2.0]])
    params = {"inputChannels": 2, "outputChannels": 2, "weights": weights}
    model = network([("innerProduct", params, ["x"], ["y"])], {"x": [2]}, ["y"], exact=False, version=1)
    edit = pippin.edit(model.SerializeToString()).quantize(*words)
    assert edit.steps[0].details["left"] == {
        "levels times the scale would be too large for float32": ["layer 'innerProduct0' (innerProduct): weights"]
    }
    assert np.isfinite(edit.load().predict({"x": [0, 1]})["y"]).all()
