"""JSON that keeps what a JSON parser forgets: the text of numbers, the order of members, members that repeat.

`parse` gives a tree in which a number is its text and an object is the list of its members, so that two values are equal
exactly when nothing but white space and the way of escaping differs. `member` gives the raw text of a member.
"""

import json
import re


class Number(str):
    """A number as it was written: `1.0` is not `1`."""


class Object(list):
    """The members of an object in their order, each a pair."""


_exact = json.JSONDecoder(parse_float=Number, parse_int=Number, parse_constant=Number, object_pairs_hook=Object)
_space = re.compile(r"[ \t\r\n]*")


def parse(text):
    value, end = _exact.raw_decode(text, _space.match(text).end())
    if _space.match(text, end).end() != len(text):
        raise ValueError("something follows the value")
    return value


def is_json(text):
    try:
        parse(text)
    except (ValueError, TypeError):
        return False
    return True


def members(text):
    """The members of the object that `text` is: pairs of name and raw text."""
    at = _space.match(text).end()
    if text[at:at + 1] != "{":
        return []
    found, at = [], _space.match(text, at + 1).end()
    while text[at:at + 1] == '"':
        name, at = json.decoder.scanstring(text, at + 1)
        at = _space.match(text, _space.match(text, at).end() + 1).end()
        _, end = _exact.raw_decode(text, at)
        found.append((name, text[at:end]))
        at = _space.match(text, end).end()
        if text[at:at + 1] != ",":
            break
        at = _space.match(text, at + 1).end()
    return found


def member(text, *path):
    """The raw text at a path of names, or None. Of members that repeat the last counts."""
    for name in path:
        text = dict(members(text)).get(name) if text is not None else None
    return text


def difference(wire, kept):
    """None when two JSON texts are equal, number text included; else what differs, shortly."""
    if wire is None or kept is None:
        return None if wire is kept else f"wire {_short(wire)}, kept {_short(kept)}"
    try:
        if parse(wire) == parse(kept) and _kinds(parse(wire)) == _kinds(parse(kept)):
            return None
    except ValueError as why:
        return f"no JSON ({why}): wire {_short(wire)}, kept {_short(kept)}"
    same = next((i for i, (a, b) in enumerate(zip(wire, kept)) if a != b), min(len(wire), len(kept)))
    at = max(0, same - 40)
    return f"from character {same}: wire ...{wire[at:at + 160]!r}, kept ...{kept[at:at + 160]!r}"


def _kinds(value):
    """A number and a string of the same text are not the same."""
    if isinstance(value, Object):
        return [(k, _kinds(v)) for k, v in value]
    if isinstance(value, list):
        return [_kinds(v) for v in value]
    return type(value).__name__


def _short(text):
    return "nothing" if text is None else repr(text if len(text) < 200 else text[:200] + "...")
