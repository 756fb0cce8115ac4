"""Text → YAML events with character offsets: the only place that imports ruamel.yaml's scanner and parser.

Its pure reader is used with the YAML 1.1 grammar, which is PyYAML's, since every framework around DeepSpeed
reads its files with PyYAML. Nothing is constructed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.parser import Parser
from ruamel.yaml.reader import Reader, ReaderError
from ruamel.yaml.scanner import Scanner, ScannerError
from ruamel.yaml.tokens import ScalarToken


class RefusalError(Exception):
    """The text is no YAML: `problem` says why, `offset` where, in characters from the text's start."""

    def __init__(self, problem: str, offset: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.offset = offset


# What an unquoted scalar may have up to the next blank; within braces and brackets less may stand in it.
BLOCK_RUN: Final = re.compile(r"(?:[^\0 \t\r\n:]|:(?![\0 \t\r\n]))+")
FLOW_RUN: Final = re.compile(r"(?:[^\0 \t\r\n:,?\[\]{}]|:(?![\0 \t\r\n,\[\]{}]))+")

ANCHOR_NAME: Final = re.compile(r"[0-9A-Za-z_-]*")
AFTER_ANCHOR: Final = "\0 \t\r\n\x85\u2028\u2029?:,]}%@`"


class Loader(Reader, Scanner, Parser):
    """ruamel.yaml's reader, scanner and parser in one object, as its own loaders put them together."""

    processing_version = (1, 1)

    def __init__(self, text: str) -> None:
        self.comment_handling = None
        self._resolver = self
        Reader.__init__(self, text, loader=self)
        Scanner.__init__(self, loader=self)
        Parser.__init__(self, loader=self)

    def scan_plain(self) -> Any:
        """An unquoted scalar, ended where PyYAML ends it: `{a:[1]}` has the key `a`."""
        run = FLOW_RUN if self.flow_level else BLOCK_RUN
        start = end = self.get_mark()
        indent = self.indent + 1
        parts: list[str] = []
        spaces: list[str] = []
        while self.peek() != "#" and (match := run.match(self.buffer, self.pointer)):
            self.allow_simple_key = False
            parts += spaces
            parts.append(match.group())
            self.forward(len(match.group()))
            end = self.get_mark()
            spaces = self.scan_plain_spaces(indent, start)
            if not spaces or (not self.flow_level and self.column < indent):
                break
        return ScalarToken("".join(parts), True, start, end)

    def scan_anchor(self, token: Any) -> Any:
        """An anchor's or an alias's name, of the characters that PyYAML allows in it."""
        start = self.get_mark()
        self.forward()
        name = ANCHOR_NAME.match(self.buffer, self.pointer).group()  # type: ignore[union-attr]
        self.forward(len(name))
        if not name or self.peek() not in AFTER_ANCHOR:
            problem = f"an anchor's name has letters, digits, `-` and `_`, and no {self.peek()!r}"
            raise ScannerError(None, start, problem, self.get_mark())
        return token(name, start, self.get_mark())


def events(text: str) -> Iterator[Any]:
    """The events of a text, each as soon as the reader is sure of it.

    Raises:
        RefusalError: the text is not YAML from some character on; the events before it have been given.
    """
    try:
        loader = Loader(text)
        while loader.check_event():
            yield loader.get_event()
    except ReaderError as error:
        raise RefusalError("it holds a control character", min(int(error.position), len(text))) from error
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = str(error.problem or error.context)
        raise RefusalError(problem, min(mark.index, len(text)) if mark else len(text)) from error
    except (YAMLError, ValueError, IndexError, AssertionError, OverflowError) as error:
        # The reader trips over a few malformed escapes and directives instead of naming them.
        raise RefusalError("it cannot be read", len(text)) from error
