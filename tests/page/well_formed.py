# SPDX-License-Identifier: Apache-2.0
"""Reads pages and JUnit files as strict XML; prints what is wrong, and the counts of their elements."""
import collections
import pathlib
import sys
import xml.etree.ElementTree

for name in sys.argv[1:]:
    text = pathlib.Path(name).read_text(encoding="utf-8").removeprefix("<!DOCTYPE html>")
    elements = list(xml.etree.ElementTree.fromstring(text.encode()).iter())
    ids = [each.get("id") for each in elements if each.get("id")]
    twice = [each for each, count in collections.Counter(ids).items() if count > 1]
    if twice:
        raise SystemExit(f"{name}: ids are used twice: {twice}")
    described = [each.get("aria-describedby") for each in elements if each.get("aria-describedby")]
    if (lost := set(described) - set(ids)):
        raise SystemExit(f"{name}: no element has the ids {lost}")
    counts = collections.Counter(each.tag for each in elements)
    print(name, *(f"{tag}={count}" for tag, count in sorted(counts.items())))
