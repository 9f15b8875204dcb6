"""What ``predict`` answers, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import text

SCHEMA = 1
"""Version of the JSON that ``pippin run --json`` prints."""

ROW = 64
"""Numbers of an array that a row of a table holds."""


def as_text(answer: Mapping[str, Any], top: int = 5) -> str:
    """Labels as they are, the ``top`` classes as a table, arrays summarised."""
    import numpy as np

    parts = []
    for name, value in answer.items():
        if isinstance(value, dict):
            best = sorted(value.items(), key=lambda item: -item[1])[:top]
            more = f" (top {len(best)} of {len(value)})" if len(value) > len(best) else ""
            rows = [(label, f"{probability:.6f}") for label, probability in best]
            parts.append(f"{name}{more}\n{text.table(rows, indent='  ')}")
        elif isinstance(value, np.ndarray):
            parts.append(f"{name}: {_summary(value)}")
        elif hasattr(value, "getbands"):
            parts.append(f"{name}: picture {value.width}x{value.height} {value.mode}")
        else:
            parts.append(f"{name}: {value}")
    return "\n".join(parts)


def _summary(array: Any) -> str:
    import numpy as np

    head = f"{array.dtype}{list(array.shape)}"
    if not array.size:
        return f"{head} (empty)"
    with np.printoptions(precision=6, suppress=True, threshold=12, edgeitems=3, linewidth=100):
        if array.size <= 12:
            return f"{head} {np.array2string(array, separator=', ')}"
        values = array.astype(np.float64)
        first = ", ".join(f"{v:.6g}" for v in array.reshape(-1)[:4])
        return f"{head} min {values.min():.6g} max {values.max():.6g} mean {values.mean():.6g} first {first}, …"


def as_json(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The answer with arrays as nested lists, pictures as nested lists of pixels; not-a-number as null."""
    import numpy as np

    result: dict[str, Any] = {}
    for name, value in answer.items():
        if isinstance(value, np.ndarray):
            result[name] = _finite(value)
        elif hasattr(value, "getbands"):
            result[name] = np.asarray(value).tolist()
        elif isinstance(value, dict):
            result[name] = {str(label): _number(number) for label, number in value.items()}
        else:
            result[name] = value
    return result


def as_row(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The answer as cells of a table by column: labels, the best probability, numbers of small arrays."""
    import numpy as np

    row: dict[str, Any] = {}
    for name, value in answer.items():
        if isinstance(value, dict):
            best = max(value, key=lambda label: value[label])
            row[f"{name} best"] = best
            row[f"{name} of best"] = f"{value[best]:.6g}"
        elif isinstance(value, np.ndarray):
            flat = value.reshape(-1)
            for index, number in enumerate(flat[:ROW]):
                row[name if flat.size == 1 else f"{name}[{index}]"] = f"{number:.7g}"
        elif hasattr(value, "getbands"):
            row[name] = f"{value.width}x{value.height}"
        else:
            row[name] = value
    return row


def _finite(array: Any) -> Any:
    import numpy as np

    if array.dtype.kind != "f" or np.isfinite(array).all():
        return array.tolist()
    result: list[Any] = np.asarray(np.where(np.isfinite(array), array.astype(object), None)).tolist()
    return result


def _number(value: float) -> float | None:
    import math

    return value if math.isfinite(value) else None
