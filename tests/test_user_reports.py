"""What users of the format stumbled over elsewhere, each with the right answer worked out by hand.

These are whole networks through ``load`` and ``predict``; rows of single layers stand in ``cases``.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import onnx
import pytest

import pippin
from cases import normal
from make import add, classifier, network, picture_network
from pippin.errors import CheckError, InputError, PippinError

RAMP = np.arange(4, dtype=np.float32)


def one(kind: str, params: dict[str, Any], *inputs: Any, outputs: int = 1, legacy: bool = False) -> Any:
    """The answers of a network of one layer."""
    arrays = [np.asarray(value, np.float32) for value in inputs]
    names = [f"x{i}" for i in range(len(arrays))]
    results = [f"y{i}" for i in range(outputs)]
    shapes = {name: array.shape for name, array in zip(names, arrays, strict=True)}
    model = network([(kind, params, names, results)], shapes, results, exact=not legacy, version=1 if legacy else 5)
    answer = pippin.load(model.SerializeToString()).predict(dict(zip(names, arrays, strict=True)))
    return answer["y0"] if outputs == 1 else [answer[name] for name in results]


# -- upsampling ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        (0, [0, 0.5, 1, 1.5, 2, 2.5, 3, 3]),
        (1, [0, 3 / 7, 6 / 7, 9 / 7, 12 / 7, 15 / 7, 18 / 7, 3]),
        (2, [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3]),
    ],
    ids=["default", "corners aligned", "corners not aligned"],
)
def test_three_grids_of_bilinear_upsampling(mode: int, wanted: list[float]) -> None:
    params = {"scalingFactor": [1, 2], "mode": 1, "linearUpsampleMode": mode}
    answer = one("upsample", params, RAMP.reshape(1, 1, 1, 4))
    np.testing.assert_allclose(answer.reshape(-1), wanted, atol=1e-6)


def test_resize_in_upsample_mode_is_the_default_grid() -> None:
    params = {"targetSize": [1, 8], "mode": {"samplingMethod": 2}}
    answer = one("resizeBilinear", params, RAMP.reshape(1, 1, 1, 4))
    np.testing.assert_allclose(answer.reshape(-1), [0, 0.5, 1, 1.5, 2, 2.5, 3, 3], atol=1e-6)


@pytest.mark.parametrize("mode", [1, 2])
def test_fractional_factors_with_every_grid(mode: int) -> None:
    params = {"fractionalScalingFactor": [1.5, 1.5], "mode": 1, "linearUpsampleMode": mode}
    assert one("upsample", params, normal(1, 2, 5, 4)).shape == (1, 2, 7, 6)


# -- padding and pooling ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "before"), [(0, 0), (1, 1)], ids=["bottom right heavy", "top left heavy"])
def test_same_puts_the_odd_pixel_where_the_mode_says(mode: int, before: int) -> None:
    x = normal(1, 1, 6, 6)
    same = {"kernelSize": [3, 3], "stride": [2, 2], "same": {"asymmetryMode": mode}}
    border = {"borderAmounts": [{"startEdgeSize": before, "endEdgeSize": 1 - before}] * 2}
    padded = one("padding", {"constant": {"value": 0}, "paddingAmounts": border}, x)
    weights = {"outputChannels": 1, "kernelChannels": 1, "weights": normal(1, 1, 3, 3)}
    left = one("convolution", weights | same, x)
    right = one("convolution", weights | {"kernelSize": [3, 3], "stride": [2, 2], "valid": {}}, padded)
    np.testing.assert_allclose(left, right, atol=1e-6)


def test_reflection_is_not_symmetry_and_has_a_limit() -> None:
    border = {"borderAmounts": [{}, {"startEdgeSize": 2, "endEdgeSize": 2}]}
    x = np.array([1, 2, 3, 4], np.float32).reshape(1, 1, 1, 4)
    answer = one("padding", {"reflection": {}, "paddingAmounts": border}, x)
    assert answer.reshape(-1).tolist() == [3, 2, 1, 2, 3, 4, 3, 2]
    wide = {"borderAmounts": [{}, {"startEdgeSize": 4}]}
    with pytest.raises(PippinError, match=r"layer 'padding0' \(padding\)"):
        one("padding", {"reflection": {}, "paddingAmounts": wide}, x)


def test_crop_amounts_are_border_widths() -> None:
    x = np.arange(48, dtype=np.float32).reshape(1, 1, 6, 8)
    edges = [{"startEdgeSize": 1, "endEdgeSize": 2}, {"startEdgeSize": 3, "endEdgeSize": 1}]
    answer = one("crop", {"cropAmounts": {"borderAmounts": edges}}, x)
    np.testing.assert_array_equal(answer, x[:, :, 1:4, 3:7])
    answer = one("crop", {"offset": [1, 3]}, x, np.zeros((1, 1, 3, 4)))
    np.testing.assert_array_equal(answer, x[:, :, 1:4, 3:7])


@pytest.mark.parametrize(
    ("exclude", "wanted"),
    [
        (True, [[4, 7, 9.5], [25, 28, 30.5], [42.5, 45.5, 48]]),
        (False, [[4, 7, 4.75], [25, 28, 15.25], [21.25, 22.75, 12]]),
    ],
    ids=["real cells", "all cells"],
)
def test_the_divisor_at_an_overhanging_edge(exclude: bool, wanted: list[list[float]]) -> None:
    params = {
        "type": 1,
        "kernelSize": [2, 2],
        "stride": [3, 3],
        "includeLastPixel": {},
        "avgPoolExcludePadding": exclude,
    }
    answer = one("pooling", params, np.arange(49).reshape(1, 1, 7, 7))
    np.testing.assert_allclose(answer[0, 0], wanted)


def test_average_pooling_that_counts_its_padding() -> None:
    edges = [{"startEdgeSize": 3, "endEdgeSize": 3}] * 2
    params = {"type": 1, "kernelSize": [7, 7], "stride": [4, 4], "valid": {"paddingAmounts": {"borderAmounts": edges}}}
    answer = one("pooling", params, np.ones((1, 1, 16, 12)))[0, 0]
    np.testing.assert_allclose(answer[0], [16 / 49, 28 / 49, 28 / 49], atol=1e-6)
    np.testing.assert_allclose(answer[1, 1:2], [1.0], atol=1e-6)


def test_such_pooling_exports_a_valid_graph(tmp_path: Any) -> None:
    params = {"type": 1, "kernelSize": [3, 3], "stride": [2, 2], "same": {}}
    model = network([("pooling", params, ["x"], ["y"])], {"x": [1, 2, 6, 6]}, ["y"])
    pippin.to_onnx(model.SerializeToString(), tmp_path / "pool.onnx")
    onnx.checker.check_model(onnx.load(tmp_path / "pool.onnx"), full_check=True)


# -- transposed convolution ------------------------------------------------------------------------------------------


def naive_transpose(x: np.ndarray, w: np.ndarray, stride: int) -> np.ndarray:
    _, channels, height, width = x.shape
    _, out, kh, kw = w.shape
    y = np.zeros((1, out, (height - 1) * stride + kh, (width - 1) * stride + kw))
    for i in range(height):
        for j in range(width):
            for c in range(channels):
                y[0, :, i * stride : i * stride + kh, j * stride : j * stride + kw] += x[0, c, i, j] * w[c]
    return y


def deconvolution(x: np.ndarray, w: np.ndarray, **more: Any) -> Any:
    params = {"isDeconvolution": True, "outputChannels": w.shape[1], "kernelChannels": w.shape[0], "stride": [2, 2]}
    return one("convolution", params | {"kernelSize": w.shape[2:], "weights": w} | more, x)


def test_padding_of_a_transposed_convolution_crops() -> None:
    x, w = normal(1, 2, 5, 5), normal(2, 3, 3, 2)
    full = naive_transpose(x, w, 2)
    edges = [{"startEdgeSize": 1, "endEdgeSize": 1}] * 2
    answer = deconvolution(x, w, valid={"paddingAmounts": {"borderAmounts": edges}})
    np.testing.assert_allclose(answer, full[:, :, 1:-1, 1:-1], atol=1e-5)


@pytest.mark.parametrize("extra", [0, 1])
def test_the_output_shape_of_a_transposed_convolution_is_exact(extra: int) -> None:
    x, w = normal(1, 2, 4, 4), normal(2, 3, 3, 3)
    full = naive_transpose(x, w, 2)
    answer = deconvolution(x, w, valid={}, outputShape=[9 + extra, 9 + extra])
    assert answer.shape == (1, 3, 9 + extra, 9 + extra)
    np.testing.assert_allclose(answer[:, :, :9, :9], full, atol=1e-5)
    assert not answer[:, :, 9:].any()


# -- activations and normalisation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 2, 2), (2, 3, 2, 2), (2, 2, 3, 2, 2)])
def test_prelu_slopes_run_along_the_channels(shape: tuple[int, ...]) -> None:
    slopes = np.float32([0.1, 0.2, 0.3])
    x = -np.abs(normal(*shape))
    answer = one("activation", {"PReLU": {"alpha": slopes}}, x)
    np.testing.assert_allclose(answer, x * slopes.reshape(3, 1, 1), rtol=1e-6)


def test_instance_norm_uses_each_channels_own_statistics() -> None:
    x = normal(1, 8, 1, 10)
    params = {"channels": 8, "computeMeanVar": True, "instanceNormalization": True, "epsilon": 1e-3}
    answer = one("batchnorm", params | {"gamma": np.ones(8), "beta": np.zeros(8)}, x)
    wanted = (x - x.mean((2, 3), keepdims=True)) / np.sqrt(x.var((2, 3), keepdims=True) + 1e-3)
    np.testing.assert_allclose(answer, wanted, atol=1e-5)


def test_folding_a_batch_norm_keeps_its_epsilon() -> None:
    x, w = normal(1, 3, 6, 6), normal(4, 3, 3, 3)
    gamma, beta, mean, variance = (np.abs(normal(4, seed=s)) + 0.1 for s in range(4))
    norm = {"channels": 4, "gamma": gamma, "beta": beta, "mean": mean, "variance": variance * 0.01, "epsilon": 1e-3}
    conv = {"outputChannels": 4, "kernelChannels": 3, "weights": w, "same": {}}
    layers = [("convolution", conv, ["x"], ["c"]), ("batchnorm", norm, ["c"], ["y"])]
    fused = pippin.load(network(layers, {"x": x.shape}, ["y"]).SerializeToString()).predict({"x": x})["y"]
    apart = pippin.load(network(layers, {"x": x.shape}, ["y", "c"]).SerializeToString()).predict({"x": x})
    c = apart["c"]
    shape = (4, 1, 1)
    wanted = gamma.reshape(shape) * (c - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) * 0.01 + 1e-3)
    np.testing.assert_allclose(fused, wanted + beta.reshape(shape), rtol=1e-5, atol=1e-5)


def test_l2_normalisation_runs_over_all_of_a_picture() -> None:
    x = np.arange(1, 9, dtype=np.float32).reshape(1, 2, 2, 2)
    np.testing.assert_allclose(one("l2normalize", {"epsilon": 1e-6}, x), x / np.sqrt(204 + 1e-6), rtol=1e-6)


# -- recurrent layers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gate", "wanted"),
    [
        ({"sigmoid": {}}, [-0.06653006, 0.49535568]),
        ({"sigmoidHard": {"alpha": 0.2, "beta": 0.5}}, [-0.01041427, 0.4810736]),
    ],
    ids=["sigmoid", "hard sigmoid"],
)
def test_gru_resets_before_the_recurrent_product(gate: Any, wanted: list[float]) -> None:
    params = {
        "inputVectorSize": 1,
        "outputVectorSize": 2,
        "activations": [gate, {"tanh": {}}],
        "hasBiasVectors": True,
        "updateGateWeightMatrix": np.float32([0.5, -0.3]),
        "resetGateWeightMatrix": np.float32([-0.4, 0.8]),
        "outputGateWeightMatrix": np.float32([1, 0.2]),
        "updateGateRecursionMatrix": np.float32([[0.1, 0.2], [0.3, -0.1]]),
        "resetGateRecursionMatrix": np.float32([[0.6, -0.5], [0.2, 0.7]]),
        "outputGateRecursionMatrix": np.float32([[0.4, -0.9], [0.7, 0.3]]),
        "updateGateBiasVector": np.float32([0.1, -0.1]),
        "resetGateBiasVector": np.float32([0.2, 0]),
        "outputGateBiasVector": np.float32([-0.2, 0.3]),
    }
    x = np.float32([1, -1, 2]).reshape(3, 1, 1, 1, 1)
    model = network([("gru", params, ["x"], ["y", "h"])], {"x": [1]}, ["y", "h"], exact=False, version=1)
    answer = pippin.load(model.SerializeToString()).predict({"x": x})
    np.testing.assert_allclose(answer["h"].reshape(-1), wanted, atol=1e-6)


def test_columns_of_a_feature_map_as_a_sequence() -> None:
    """conv → permute width to the sequence → innerProduct → softmax, against NumPy."""
    x = normal(1, 4, 6)
    w, dense = normal(3, 1, 4, 1), normal(5, 3)
    conv = {"outputChannels": 3, "kernelChannels": 1, "kernelSize": [4, 1], "weights": w, "valid": {}}
    layers = [
        ("convolution", conv, ["x"], ["c"]),
        ("permute", {"axis": [3, 1, 2, 0]}, ["c"], ["p"]),
        ("innerProduct", {"inputChannels": 3, "outputChannels": 5, "weights": dense}, ["p"], ["d"]),
        ("softmax", {}, ["d"], ["y"]),
    ]  # fmt: skip
    model = network(layers, {"x": [1, 4, 6]}, ["y"], exact=False, version=1)
    answer = pippin.load(model.SerializeToString()).predict({"x": x})["y"]
    columns = np.einsum("hw,ohi->wo", x[0], w[:, 0])
    logits = columns @ dense.T
    wanted = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    assert answer.shape == (6, 1, 5, 1, 1)
    np.testing.assert_allclose(answer.reshape(6, 5), wanted, rtol=1e-5, atol=1e-6)


def test_a_batch_of_sequences_stays_one() -> None:
    x = normal(7, 4, 3)  # sequence, batch, channels
    params = {"inputVectorSize": 3, "outputVectorSize": 2, "activation": {"tanh": {}}, "sequenceOutput": True}
    params |= {"weightMatrix": normal(2, 3), "recursionMatrix": normal(2, 2)}
    model = network([("simpleRecurrent", params, ["x"], ["y", "h"])], {"x": [3]}, ["y"], exact=False, version=1)
    answer = pippin.load(model.SerializeToString()).predict({"x": x})["y"]
    assert answer.shape == (7, 4, 2, 1, 1)
    h = np.zeros((4, 2))
    for step in x:
        h = np.tanh(step @ normal(2, 3).T + h @ normal(2, 2).T)
    np.testing.assert_allclose(answer[-1, :, :, 0, 0], h, atol=1e-5)


# -- reshaping -------------------------------------------------------------------------------------------------------


def test_channel_last_reshape() -> None:
    x = normal(4, 3, 2)
    answer = one("reshape", {"targetShape": [2, 6, 2], "mode": 1}, x, legacy=True)
    wanted = x.transpose(1, 2, 0).reshape(6, 2, 2).transpose(2, 0, 1)
    np.testing.assert_array_equal(answer, wanted)


@pytest.mark.parametrize("mode", [0, 1])
def test_flatten_orders(mode: int) -> None:
    x = normal(2, 2, 3)
    answer = one("flatten", {"mode": mode}, x, legacy=True)
    wanted = (x if mode == 0 else x.transpose(1, 2, 0)).reshape(-1)
    assert answer.shape == (12, 1, 1)
    np.testing.assert_array_equal(answer.reshape(-1), wanted)


def test_every_permutation() -> None:
    x = normal(2, 1, 3, 4, 5)
    for axes in permutations(range(4)):
        model = network([("permute", {"axis": axes}, ["x"], ["y"])], {"x": [3, 4, 5]}, ["y"], exact=False, version=1)
        answer = pippin.load(model.SerializeToString()).predict({"x": x})["y"]
        wanted = x[:, 0].transpose(axes)[:, None]
        np.testing.assert_array_equal(answer.reshape(wanted.shape), wanted)


def test_a_large_embedding_then_a_reshape() -> None:
    table = normal(400, 1000)
    layers = [
        ("embedding", {"inputDim": 1000, "outputChannels": 400, "weights": table}, ["x"], ["e"]),
        ("reshape", {"targetShape": [20, 20, 1]}, ["e"], ["y"]),
    ]
    model = network(layers, {"x": [1]}, ["y"], exact=False, version=1)
    answer = pippin.load(model.SerializeToString()).predict({"x": [321]})["y"]
    np.testing.assert_array_equal(answer.reshape(-1), table[:, 321])


# -- later layers ----------------------------------------------------------------------------------------------------


def test_a_slice_that_ends_beyond_the_size() -> None:
    x = normal(1, 2, 8, 16)
    params = {
        "beginIds": [0, 0, 0, 0], "endIds": [1, 2, 8, 12], "strides": [1, 1, 2, 2],
        "beginMasks": [False] * 4, "endMasks": [False] * 4,
    }  # fmt: skip
    np.testing.assert_array_equal(one("sliceStatic", params, x), x[:1, :2, :8:2, :12:2])


@pytest.mark.parametrize("hits", [0, 1, 5])
def test_where_non_zero(hits: int) -> None:
    x = np.zeros((2, 3), np.float32)
    x.reshape(-1)[:hits] = 7
    answer = one("whereNonZero", {}, x)
    assert answer.shape == (hits, 2)
    np.testing.assert_array_equal(answer, np.argwhere(x))


def test_squeezing_what_is_not_one() -> None:
    with pytest.raises(CheckError, match=r"layer 'squeeze0' \(squeeze\)"):
        one("squeeze", {"axes": [0]}, np.zeros((2, 3)))


def test_log_sum_exp_does_not_overflow() -> None:
    answer = one("reduceLogSumExp", {"axes": [0]}, np.full((32,), 100.0))
    np.testing.assert_allclose(answer.reshape(-1), 100 + np.log(32), rtol=1e-6)


def test_no_box_over_the_threshold_still_gives_the_best() -> None:
    boxes = normal(1, 4, 4)
    scores = np.float32([0.1, 0.3, 0.2, 0.05]).reshape(1, 4, 1)
    params = {"iouThreshold": 0.5, "scoreThreshold": 0.9, "maxBoxes": 3, "perClassSuppression": False}
    kept, values, indices, count = one("NonMaximumSuppression", params, boxes, scores, outputs=4)
    np.testing.assert_allclose(kept[0], [boxes[0, 1], [0] * 4, [0] * 4], rtol=1e-6)
    np.testing.assert_allclose(values.reshape(-1), [0.3, 0, 0])
    assert indices.reshape(-1).tolist() == [1, -1, -1]
    assert count.reshape(-1).tolist() == [1]


def test_both_branches_write_the_same_blob() -> None:
    model = network([("branch", {}, ["c"], []), ("copy", {}, ["b"], ["y"])], {"c": [1], "x": [2]}, ["y"])
    branch = model.neuralNetwork.layers[0].branch
    add(branch.ifBranch, [("activation", {"linear": {"alpha": 2}}, ["x"], ["b"])])
    add(branch.elseBranch, [("activation", {"linear": {"alpha": 3}}, ["x"], ["b"])])
    net = pippin.load(model.SerializeToString())
    assert net.predict({"c": [1], "x": [1, 2]})["y"].tolist() == [2, 4]
    assert net.predict({"c": [0], "x": [1, 2]})["y"].tolist() == [3, 6]


# -- features --------------------------------------------------------------------------------------------------------


def test_a_tie_goes_to_the_first_class() -> None:
    net = pippin.load(classifier(["a", "b", "c"]).SerializeToString())
    assert net.predict({"x": [0.2, 0.4, 0.4]})["label"] == "b"


def test_a_batch_is_never_cut_to_its_first_row() -> None:
    model = network([("softmaxND", {"axis": -1}, ["x"], ["y"])], {"x": [1, 256]}, ["y"])
    with pytest.raises(InputError, match=r"must have the shape \[1, 256\], got \[8, 256\]"):
        pippin.load(model.SerializeToString()).predict({"x": np.zeros((8, 256))})


def test_two_inputs_of_enumerated_shapes_in_any_pair_that_fits() -> None:
    model = network([("concatND", {"axis": 0}, ["a", "b"], ["y"])], {"a": [1, 2], "b": [1, 2]}, ["y"])
    for entry in model.description.input:
        shapes = entry.type.multiArrayType.enumeratedShapes.shapes
        for shape in ([1, 2], [2, 2], [1, 3]):
            shapes.add(shape=shape)
    net = pippin.load(model.SerializeToString())
    assert net.predict({"a": np.zeros((1, 2)), "b": np.zeros((2, 2))})["y"].shape == (3, 2)
    assert net.predict({"a": np.zeros((1, 3)), "b": np.zeros((1, 3))})["y"].shape == (2, 3)
    with pytest.raises(PippinError, match=r"layer 'concatND0' \(concatND\)"):
        net.predict({"a": np.zeros((1, 3)), "b": np.zeros((2, 2))})


def test_memory_for_each_shape() -> None:
    layer = (
        "convolution",
        {"outputChannels": 8, "kernelChannels": 3, "weights": normal(8, 3, 3, 3), "same": {}},
        ["image"],
        ["y"],
    )
    small = pippin.load(picture_network([layer], size=(16, 16)).SerializeToString()).memory()
    large = pippin.load(picture_network([layer], size=(64, 64)).SerializeToString()).memory()
    assert 10 < large.values / small.values < 20


def test_memory_does_not_grow_with_the_number_of_runs() -> None:
    import gc
    import resource

    net = pippin.load(network([("softmaxND", {"axis": -1}, ["x"], ["y"])], {"x": [64]}, ["y"]).SerializeToString())
    x = np.zeros(64, np.float32)
    for _ in range(500):
        net.predict({"x": x})
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20_000):
        net.predict({"x": x})
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 5_000
