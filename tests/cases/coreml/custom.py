"""Rows of custom layers; those that run stand in the tests of custom layers, which register functions."""

from __future__ import annotations

from cases import Case

CASES = [
    Case("custom", "class without a function", {"className": "NoSuchLayer"}, refuses="NoSuchLayer"),
    Case("custom", "no className", {}, refuses="className"),
]
