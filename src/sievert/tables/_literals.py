"""Texts inside a question, written so that no setting of a session changes what they mean.

A text ends where its quote does. Where that is depends on settings in some databases: a backslash is a letter
or an escape in Postgres (`standard_conforming_strings`) and in Spark (`escapedStringLiterals`), and Spark
replaces `${env:NAME}` before it reads the question. So every text of a question – of the file's `sql`, its
`missing_values`, the codes of cells – is written in a form that has one meaning only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sievert.errors import FileError
from sievert.numerics import abbreviated

__all__ = ["fixed", "text_of"]

# What every database reads as it is written between quotes; Spark looks for a dollar first.
PLAIN = re.compile(r"[^\\'\x00-\x1f\x7f]*")


def text_of(text: str, dialect: str) -> str:
    """A text as the database of this dialect reads it under every setting of its session.

    Raises
    ------
    FileError : a text that holds a zero byte, or, where the database is not known, a quote or a backslash

    >>> print(text_of("it's", "duckdb"), text_of("a\\\\'b", "postgres"), text_of("it's", "spark"))
    'it''s' E'a\\\\''b' decode(X'69742773', 'UTF-8')
    """
    if "\0" in text:
        raise FileError(
            f"{abbreviated(text)} holds a zero byte, which no database can hold in a text; leave it out"
        )
    if PLAIN.fullmatch(text) and not (dialect == "spark" and "$" in text):
        return f"'{text}'"
    return WRITTEN.get(dialect, _only_plain)(text)


def fixed(question: Any, dialect: str) -> Any:
    """A question of sqlglot in which every text has one meaning only."""
    from sqlglot import expressions

    def written(node: Any) -> Any:
        if isinstance(node, expressions.Literal) and node.is_string:
            text = text_of(node.this, dialect)
            return node if text == f"'{node.this}'" else expressions.Var(this=text)
        return node

    return question.transform(written, copy=False)


def _doubled(text: str) -> str:
    """Standard SQL, whose only special letter is the quote."""
    return "'" + text.replace("'", "''") + "'"


def _of_postgres(text: str) -> str:
    if "\\" not in text:
        return _doubled(text)
    return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _of_spark(text: str) -> str:
    return f"decode(X'{text.encode().hex()}', 'UTF-8')"


def _only_plain(text: str) -> str:
    raise FileError(
        f"{abbreviated(text)} holds a quote, a backslash or a control character, which this database may "
        "read as a command; leave such texts out in a view of the database"
    )


WRITTEN: dict[str, Callable[[str], str]] = {
    "duckdb": _doubled,
    "sqlite": _doubled,
    "postgres": _of_postgres,
    "spark": _of_spark,
}
