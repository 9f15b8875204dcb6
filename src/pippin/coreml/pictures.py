"""Pictures: opened, converted, made to fit an input by a rule that is chosen and visible, and made of blobs."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CheckError, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .features import Feature

_ORIENTATION = 0x0112
"""The EXIF tag that says how a camera was held."""
RULES = {
    "crop": "scale until the shorter side fits, cut the middle out of the longer one (what Vision does by default)",
    "fit": "scale until the longer side fits, fill the rest with black",
    "stretch": "scale both sides, whatever becomes of the proportions",
}
"""How a picture is made to fit: name and meaning. Scaling is bilinear, with all pixels averaged that are left out."""


def fitted(picture: Any, feature: Feature, rule: str) -> Any:
    """``picture``, an image or a path, as an image of the size that ``feature`` declares.

    Raises ``InputError`` for an unknown rule, what is no picture, or an input of any size.
    """
    from PIL import Image, ImageOps

    if rule not in RULES:
        raise InputError(f"the resize rule must be one of {', '.join(RULES)}, got {rule!r}")
    where = place(feature.name, picture)
    if feature.size == (1, 1) and feature.flexible is not None:
        raise InputError("the model takes pictures of any size, so there is none to resize to", where=where)
    image = open_picture(picture, where)
    assert feature.size is not None
    if image.mode not in ("L", "RGB", "F"):
        image = converted(image, "L" if (feature.color or "").startswith("GRAY") else "RGB", where)
    if image.size == feature.size:
        return image
    how = Image.Resampling.BILINEAR
    if rule == "crop":
        return ImageOps.fit(image, feature.size, how)
    if rule == "fit":
        return ImageOps.pad(image, feature.size, how)
    return image.resize(feature.size, how)


def place(name: str, value: Any) -> str:
    """Where a picture belongs, and which file it is, as messages say it: one of thousands may be wrong."""
    file = f", {os.fspath(value)}" if isinstance(value, (str, os.PathLike)) else ""
    return f"input {name!r}{file}"


def open_picture(value: Any, where: str, look: Callable[[tuple[int, ...]], Any] | None = None) -> Any:
    """``value`` as a PIL image: an image itself, a path or a binary file object.

    A picture from a file is turned as its EXIF orientation says, as people see it. ``look`` may refuse its size, before
    its pixels are decoded.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    if isinstance(value, Image.Image):
        if look is not None:
            look(value.size)
        return value
    if isinstance(value, (bytes, int, float, Mapping, Sequence)) and not isinstance(value, str):
        raise InputError(
            f"a picture is wanted: a PIL image, a path or an array, got {type(value).__name__}", where=where
        )
    try:
        picture: Any = Image.open(_piped(value))
        if look is not None:
            _early(picture, look)
        picture.load()
        turned = picture.getexif().get(_ORIENTATION, 1) in range(2, 9)
    except InputError:
        raise
    except Image.DecompressionBombError:
        limit = 2 * (Image.MAX_IMAGE_PIXELS or 0)
        raise InputError(f"the picture is too large: it has more than {limit:,} pixels", where=where) from None
    except UnidentifiedImageError:
        raise InputError("the picture cannot be read: the file is none, or of an unknown kind", where=where) from None
    except (OSError, ValueError, SyntaxError, AttributeError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"the picture cannot be read: {reason}", where=where) from None
    if turned:
        picture = ImageOps.exif_transpose(picture)
    if look is not None:
        look(picture.size)
    return picture


def _piped(value: Any) -> Any:
    """What a pipe holds, which Pillow may look for under another name; anything else as it is."""
    if not isinstance(value, (str, os.PathLike)) or not Path(value).is_fifo():
        return value
    return io.BytesIO(Path(value).read_bytes())


def _early(picture: Any, look: Callable[[tuple[int, ...]], Any]) -> None:
    """Lets ``look`` refuse a picture that fits neither as it is nor turned."""
    try:
        look(picture.size)
    except InputError:
        try:
            look(picture.size[::-1])
        except InputError:
            picture.close()
        else:
            return
        raise


def converted(picture: Any, mode: str, where: str) -> Any:
    """A PIL image in another mode. 16-bit levels become 8-bit ones; what is transparent keeps its colour."""
    import numpy as np
    from PIL import Image

    if picture.mode.startswith("I;16"):
        levels = np.asarray(picture, np.uint32)
        picture = Image.fromarray(((levels * 255 + 32767) // 65535).astype(np.uint8))
    elif picture.mode in ("I", "F") and not all(0 <= level <= 255 for level in picture.getextrema()):
        raise InputError(
            f"a picture of mode {picture.mode} must have levels from 0 to 255, got {picture.getextrema()}", where=where
        )
    try:
        return picture.convert(mode)
    except ValueError as error:
        raise InputError(f"a picture of mode {picture.mode} cannot be used: {error}", where=where) from None


def to_picture(blob: NDArray[np.float32], feature: Feature) -> Any:
    """A PIL image of a blob […,C,H,W]: values are rounded and clipped to 0..255. GRAYSCALE_FLOAT16 keeps its values."""
    import numpy as np
    from PIL import Image

    channels = 1 if feature.color in ("GRAYSCALE", "GRAYSCALE_FLOAT16") else 3
    if blob.ndim < 3 or blob.shape[-3] != channels:
        raise CheckError(
            f"a {feature.color} picture needs a blob of {channels} channels, [..., {channels}, height, width],"
            f" the network yields {list(blob.shape)}",
            where=f"output {feature.name!r}",
        )
    pixels = blob.reshape(blob.shape[-3:]) if blob.size == math.prod(blob.shape[-3:]) else blob[(0,) * (blob.ndim - 3)]
    if feature.color == "GRAYSCALE_FLOAT16":
        return Image.fromarray(np.ascontiguousarray(pixels[0], np.float32), "F")
    levels = np.clip(np.rint(np.nan_to_num(pixels, nan=0.0)), 0, 255).astype(np.uint8)
    if feature.color == "GRAYSCALE":
        return Image.fromarray(np.ascontiguousarray(levels[0]))
    if feature.color == "BGR":
        levels = levels[::-1]
    return Image.fromarray(np.ascontiguousarray(levels.transpose(1, 2, 0)))
