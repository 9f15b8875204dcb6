"""Writes torch's answers to ``tests/fixtures/torch_*.npz``: an opinion about the twins from outside this project.

Run with a Python that has torch: ``python tools/make_torch_fixtures.py tests/fixtures``. Values are computed in float64
from float32 numbers and stored as float32; keys are ``case/array``. The tests need the files only, not torch.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[np.float32]]

torch: Any = importlib.import_module("torch")
functional: Any = importlib.import_module("torch.nn.functional")

# name: in, out, kernel, stride, padding, output padding, groups
DECONVOLUTIONS = {
    "k4s2p1": (3, 2, 4, 2, 1, 0, 1),
    "k3s2p1_op1": (3, 2, 3, 2, 1, 1, 1),
    "k5s3p2": (2, 3, 5, 3, 2, 0, 1),
    "k5s3p2_op1": (2, 3, 5, 3, 2, 1, 1),
    "k4s2p1_grouped": (4, 6, 4, 2, 1, 0, 2),
    "k3s2p1_op1_depthwise": (4, 4, 3, 2, 1, 1, 4),
}
# name: in, out, kernel, stride, padding, dilation, groups
CONVOLUTIONS = {
    "k3": (3, 4, (3, 3), (1, 1), (0, 0), (1, 1), 1),
    "k3x2_s2_p1": (2, 3, (3, 2), (2, 2), (1, 1), (1, 1), 1),
    "dilated": (2, 3, (3, 3), (1, 2), (2, 1), (2, 3), 1),
    "grouped": (4, 6, (3, 3), (2, 1), (1, 1), (1, 1), 2),
    "depthwise": (3, 6, (3, 3), (1, 1), (1, 1), (1, 1), 3),
}
# name: kernel, stride, padding, ceil mode, padding counts
POOLS = {
    "valid": (3, 2, 0, False, True),
    "padded": (3, 2, 1, False, True),
    "padded_excluded": (3, 2, 1, False, False),
    "ceil": (2, 3, 0, True, False),
    "ceil_padded": (3, 3, 1, True, False),
}
# name: mode, corners aligned, plane, target
RESIZES = {
    "nearest_2x3": ("nearest", None, (3, 4), (6, 12)),
    "bilinear_false": ("bilinear", False, (3, 4), (6, 12)),
    "bilinear_true": ("bilinear", True, (3, 4), (6, 12)),
    "bilinear_false_fractional": ("bilinear", False, (4, 5), (6, 7)),
    "bilinear_true_fractional": ("bilinear", True, (4, 5), (6, 7)),
    "bilinear_true_smaller": ("bilinear", True, (5, 7), (3, 2)),
}


def numbers(*shape: int, seed: int) -> NDArray[np.float32]:
    """Seeded normal numbers."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def tensor(array: NDArray[np.float32]) -> Any:
    """A float64 tensor."""
    return torch.from_numpy(array.astype(np.float64))


def stored(value: Any) -> NDArray[np.float32]:
    """A tensor as it is stored."""
    return np.asarray(value.detach().numpy(), np.float32)


def convolutions() -> Arrays:
    """Convolutions and deconvolutions: x, weight, bias, y."""
    out: Arrays = {}
    for seed, (name, (inside, outside, kernel, stride, padding, dilation, groups)) in enumerate(CONVOLUTIONS.items()):
        x, w = numbers(2, inside, 6, 7, seed=seed), numbers(outside, inside // groups, *kernel, seed=seed)
        b = numbers(outside, seed=seed)
        y = functional.conv2d(tensor(x), tensor(w), tensor(b), stride, padding, dilation, groups)
        out |= {f"conv_{name}/x": x, f"conv_{name}/weight": w, f"conv_{name}/bias": b, f"conv_{name}/y": stored(y)}
    for seed, (name, (inside, outside, size, step, pad, extra, groups)) in enumerate(DECONVOLUTIONS.items()):
        x, w = numbers(2, inside, 4, 5, seed=seed), numbers(inside, outside // groups, size, size, seed=seed)
        b = numbers(outside, seed=seed)
        y = functional.conv_transpose2d(tensor(x), tensor(w), tensor(b), step, pad, extra, groups)
        out |= {
            f"deconv_{name}/x": x,
            f"deconv_{name}/weight": w,
            f"deconv_{name}/bias": b,
            f"deconv_{name}/y": stored(y),
        }
    return out


def pools() -> Arrays:
    """Maximum, mean and norm pooling: x, y."""
    out: Arrays = {}
    for seed, (name, (kernel, stride, pad, ceil, count)) in enumerate(POOLS.items()):
        x = numbers(2, 2, 7, 10, seed=seed)
        out[f"{name}/x"] = x
        out[f"{name}/max"] = stored(functional.max_pool2d(tensor(x), kernel, stride, pad, ceil_mode=ceil))
        out[f"{name}/average"] = stored(functional.avg_pool2d(tensor(x), kernel, stride, pad, ceil, count))
        if pad == 0 and not ceil:
            out[f"{name}/l2"] = stored(functional.lp_pool2d(tensor(x), 2.0, kernel, stride))
    return out


def resizes() -> Arrays:
    """Interpolation of planes: x, y."""
    out: Arrays = {}
    for seed, (name, (mode, corners, plane, target)) in enumerate(RESIZES.items()):
        x = numbers(1, 2, *plane, seed=seed)
        y = functional.interpolate(tensor(x), size=target, mode=mode, align_corners=corners)
        out |= {f"{name}/x": x, f"{name}/y": stored(y)}
    return out


def recurrent() -> Arrays:
    """A plain recurrent layer, an LSTM, a two-way LSTM: x [S,B,C], states, torch's weights, y, states."""
    out: Arrays = {}
    for name, kind, both in (("rnn", "RNN", False), ("lstm", "LSTM", False), ("bilstm", "LSTM", True)):
        torch.manual_seed(3)
        layer = getattr(torch.nn, kind)(3, 4, bidirectional=both).double()
        x, states = numbers(5, 2, 3, seed=1), [numbers(1 + both, 2, 4, seed=seed) for seed in (2, 3)]
        for parameter in layer.parameters():  # what is stored is float32
            parameter.data = parameter.data.float().double()
        given: Any = tuple(tensor(state) for state in states) if kind == "LSTM" else tensor(states[0])
        y, last = layer(tensor(x), given)
        lasts = last if kind == "LSTM" else (last,)
        out |= {f"{name}/x": x, f"{name}/y": stored(y)}
        for label, state, final in zip("hc", states, lasts, strict=False):
            out |= {f"{name}/{label}0": state, f"{name}/{label}1": stored(final)}
        out |= {f"{name}/{label}": stored(value) for label, value in layer.named_parameters()}
    return out


def normalisations() -> Arrays:
    """Batch, instance and local response normalisation, activations: x, parameters, y."""
    x = numbers(2, 4, 3, 5, seed=1)
    gamma, beta, mean = (numbers(4, seed=seed) for seed in (2, 3, 4))
    variance = np.abs(numbers(4, seed=5)) + np.float32(0.5)
    given = [tensor(value) for value in (mean, variance, gamma, beta)]
    out: Arrays = {"x": x, "gamma": gamma, "beta": beta, "mean": mean, "variance": variance}
    out["batchnorm"] = stored(functional.batch_norm(tensor(x), *given, eps=1e-3))
    out["batchnorm_computed"] = stored(
        functional.batch_norm(tensor(x), None, None, *given[2:], training=True, eps=1e-3)
    )
    out["instancenorm"] = stored(functional.instance_norm(tensor(x), None, None, *given[2:], eps=1e-3))
    # odd sizes only: torch lets the window of an even one begin a channel earlier
    out["lrn_3"] = stored(functional.local_response_norm(tensor(x), 3, alpha=0.5, beta=0.75, k=2.0))
    activations: dict[str, Callable[..., Any]] = {
        "PReLU": lambda v: functional.prelu(v, given[2]),
        "ELU": lambda v: functional.elu(v, 0.7),
        "softplus": functional.softplus,
        "softsign": functional.softsign,
        "leakyReLU": lambda v: functional.leaky_relu(v, 0.1),
        "pixel_shuffle": lambda v: functional.pixel_shuffle(v, 2),
        "softmax": lambda v: functional.softmax(v, 1),
    }
    return out | {name: stored(function(tensor(x))) for name, function in activations.items()}


def main(folder: Path) -> None:
    """Writes the files."""
    made = {
        "convolution": convolutions(),
        "pooling": pools(),
        "resize": resizes(),
        "recurrent": recurrent(),
        "normalization": normalisations(),
    }
    for name, arrays in made.items():
        path = folder / f"torch_{name}.npz"
        np.savez_compressed(path, **arrays)  # type: ignore[arg-type]
        print(f"{path}: {len(arrays)} arrays, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("tests/fixtures"))
