"""JSON as people write it, with the place of every value: comments, trailing commas, a byte order mark.

It is a reader for small files written by hand, not for traffic (that is `vocabulary.raw_json`), and it knows nothing of
what the values mean. What is not JSON even so is reported and read on as it was probably meant, so that one missing
comma does not hide the next five mistakes.

The one rule: it never raises and always ends; whatever the bytes, there is a node (perhaps null) and the mistakes.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 64
MAX_MISTAKES = 50

Kind: TypeAlias = Literal["object", "array", "string", "number", "boolean", "null"]


@dataclass(slots=True)
class Node:
    """A value and the offset where it starts. An object's value is a dict of nodes, an array's a list of nodes."""

    kind: Kind
    value: Any
    offset: int
    key_offset: int = -1

    @property
    def members(self) -> dict[str, Node]:
        return self.value if self.kind == "object" else {}

    @property
    def items(self) -> list[Node]:
        return self.value if self.kind == "array" else []

    def plain(self) -> Any:
        """The value as ordinary Python."""
        if self.kind == "object":
            return {key: member.plain() for key, member in self.members.items()}
        return [item.plain() for item in self.items] if self.kind == "array" else self.value


class Mistake(NamedTuple):
    """A mistake that `breaks` leaves the text's meaning to guesses; one that does not, a key twice, has a known one."""

    offset: int
    what: str
    cure: str = ""
    breaks: bool = True


class Document:
    """The outcome of reading: the root, what is wrong with the text, and lines and columns for offsets."""

    def __init__(self, text: str, root: Node, mistakes: list[Mistake]) -> None:
        self.root = root
        self.mistakes = mistakes
        self._line_starts = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text))]

    @property
    def broken(self) -> bool:
        return any(mistake.breaks for mistake in self.mistakes)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, the column in characters."""
        line = bisect.bisect_right(self._line_starts, max(offset, 0))
        return line, max(offset, 0) - self._line_starts[line - 1] + 1


def read(data: bytes) -> Document:
    """Read a whole file."""
    if len(data) > MAX_BYTES:
        what = f"the file has {len(data)} bytes; at most {MAX_BYTES} are read"
        return Document("", Node("null", None, 0), [Mistake(0, what, "is this the right file?")])
    text, mistake = _decode(data)
    if mistake is not None:
        return Document(text, Node("null", None, 0), [mistake])
    reader = _Reader(text)
    root = reader.document()
    return Document(text, root, reader.mistakes)


def _decode(data: bytes) -> tuple[str, Mistake | None]:
    """Text of a file: UTF-8 with or without a mark, or UTF-16 with one, which is what PowerShell's `>` writes."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding), None
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(encoding, "replace")
        return before, Mistake(len(before), "the file is not UTF-8 text from here on", "save it as UTF-8")


_gap = re.compile(r"(?:[ \t\r\n\ufeff\u00a0]+|//[^\r\n]*|/\*.*?\*/)+", re.DOTALL)
_string = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_number = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.+-])")
_line_end = re.compile(r"[\r\n]")
_word = re.compile(r"[^\s,:{}\[\]\"'/]+")
_closing_quote = {"'": "'", "\u201c": "\u201d", "\u201d": "\u201d", "\u201e": "\u201c", "\u2018": "\u2019", "`": "`"}
_words: dict[str, tuple[Kind, Any]] = {"true": ("boolean", True), "false": ("boolean", False), "null": ("null", None)}


class _Reader:
    """Recursive descent with a position. After `_stop` it stands at the end, loops end and nothing more is said."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.stopped = False
        self.mistakes: list[Mistake] = []

    def document(self) -> Node:
        if not self._peek():
            self._wrong("the file is empty", 'write at least {"mcpServers": {}}')
            return Node("null", None, 0)
        root = self._value()
        if self._peek():
            self._wrong("there is more text after the end of the configuration", "one file holds one { … }")
        return root

    def _wrong(self, what: str, cure: str = "", offset: int | None = None, breaks: bool = True) -> None:
        if self.stopped:
            return
        self.mistakes.append(Mistake(self.at if offset is None else offset, what, cure, breaks))
        if len(self.mistakes) >= MAX_MISTAKES:
            self._stop()

    def _stop(self) -> None:
        self.stopped = True
        self.at = len(self.text)

    def _line(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def _peek(self) -> str:
        """The next character that is neither white space nor comment, or nothing at the end."""
        gap = _gap.match(self.text, self.at)
        if gap:
            self.at = gap.end()
        if self.text.startswith("/*", self.at):
            self._wrong("a comment is opened here and never closed", "close it with */")
            self._stop()
        return self.text[self.at : self.at + 1]

    def _value(self) -> Node:
        char = self._peek()
        start = self.at
        if char in ("{", "["):
            return self._nested(char, start)
        if char == '"' or char in _closing_quote:
            return Node("string", self._text(), start)
        number = _number.match(self.text, start)
        if number:
            self.at = number.end()
            return Node("number", msgspec.json.decode(number.group()), start)
        return self._bare_word(char, start)

    def _nested(self, char: str, start: int) -> Node:
        node = Node("object", {}, start) if char == "{" else Node("array", [], start)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self._wrong(f"the file is nested deeper than {MAX_DEPTH} levels")
            self._stop()
            return node
        self.at += 1
        if char == "{":
            self._members(node)
        else:
            self._items(node)
        self.depth -= 1
        return node

    def _members(self, node: Node) -> None:
        while not self._closed(node, "}"):
            key_offset = self.at
            key = self._key()
            if self._peek() == ":":
                self.at += 1
            else:
                self._wrong(f"a ':' is missing after the key '{key}'")
            if self._peek() in ("}", ",", ""):
                self._wrong(f"the key '{key}' has no value")
                member = Node("null", None, self.at)
            else:
                member = self._value()
            member.key_offset = key_offset
            if key in node.value:
                cure = f"the first is in line {self._line(node.value[key].key_offset)}; keep one"
                self._wrong(f"the key '{key}' is here twice, and the last one counts", cure, key_offset, False)
            node.value[key] = member
            self._comma("}")

    def _items(self, node: Node) -> None:
        while not self._closed(node, "]"):
            node.value.append(self._value())
            self._comma("]")

    def _closed(self, node: Node, closing: str) -> bool:
        """Whether the object or array ends here; steps over its end, and over commas with nothing before them."""
        while self._peek() == ",":
            self._wrong("a comma stands where a value should be", "remove it")
            self.at += 1
        char = self._peek()
        opening = self.text[node.offset]
        if not char:
            what = f"the '{opening}' of line {self._line(node.offset)} is never closed"
            self._wrong(what, f"add the missing '{closing}'")
            self._stop()
            return True
        if char not in ("}", "]"):
            return False
        if char != closing:
            self._wrong(f"'{char}' closes what was opened with '{opening}'", f"write '{closing}'")
        self.at += 1
        return True

    def _comma(self, closing: str) -> None:
        end = self.at
        char = self._peek()
        if char == ",":
            self.at += 1
        elif char not in ("}", "]", ""):
            self._wrong("a comma is missing", f"put ',' between values and '{closing}' after the last", end)

    def _key(self) -> str:
        char = self._peek()
        if char == '"' or char in _closing_quote:
            return self._text()
        word = _word.match(self.text, self.at)
        if word is None:
            self._wrong(f"a key should be here, not '{char}'", "keys are written in double quotes")
            self._stop()
            return ""
        self._wrong("the key has no quotes", 'write it as "…"')
        self.at = max(self.at, word.end())
        return word.group()

    def _text(self) -> str:
        start = self.at
        match = _string.match(self.text, start)
        if match is None:
            return self._badly_quoted(start)
        self.at = match.end()
        try:
            return msgspec.json.decode(match.group().encode("utf-8", "replace"), type=str)
        except msgspec.DecodeError:
            cure = 'a backslash is written twice, as in "C:\\\\data"'
            self._wrong("the text contains a backslash sequence that JSON does not know", cure, start)
            return match.group()[1:-1]

    def _badly_quoted(self, start: int) -> str:
        quote = self.text[start]
        line_end = _line_end.search(self.text, start)
        limit = line_end.start() if line_end else len(self.text)
        end = self.text.find(_closing_quote.get(quote, '"'), start + 1, limit)
        if quote == '"' or end < 0:
            self.at = limit
            cure = "close it with a double quote; a line break is written \\n"
            self._wrong("a text is opened here and not closed in the same line", cure, start)
            return self.text[start + 1 : limit].rstrip(", ")
        self.at = end + 1
        self._wrong(f"a text is quoted with {quote}", 'JSON takes only the straight double quote "', start)
        return self.text[start + 1 : end]

    def _bare_word(self, char: str, start: int) -> Node:
        word = _word.match(self.text, start)
        if word is None:
            self._wrong(f"'{char}' cannot start a value" if char else "the file ends where a value should be")
            self._stop()
            return Node("null", None, start)
        self.at = word.end()
        known = _words.get(word.group())
        if known:
            return Node(*known, start)
        lowered = _words.get({"none": "null"}.get(word.group().lower(), word.group().lower()))
        if lowered:
            self._wrong("true, false and null are written like this, in small letters", "", start)
            return Node(*lowered, start)
        self._wrong("a text has no quotes, or a number is not one", 'write it as "…"', start)
        return Node("string", word.group(), start)
