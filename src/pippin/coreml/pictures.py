"""Pictures of any size made to fit an input: the rule is chosen and visible, never silent."""

from __future__ import annotations

from typing import Any

from ..errors import InputError
from .features import Feature, converted, open_picture, place

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
