"""What a driver or a reader says of data: the class of its error for everybody, its own words for the owner.

A message that was written after the first row was read may quote that row, by accident (a cast of dirty data)
or because a SELECT asks for it (`error(string_agg(…))`). So it goes into an error's `private` words, which
the command line shows on the owner's terminal alone, and only when asked for.
"""

from __future__ import annotations

import csv

__all__ = ["PRIVATE_WORDS", "class_of", "first_line", "whole", "words_before_data"]

PRIVATE_WORDS = (
    "its own message may quote private cells: run the command in a terminal with --details to see it"
)
# Errors that a database raises while it reads a question, before any row: they name tables and columns.
BEFORE_DATA = frozenset(
    {
        *("BinderException", "CatalogException", "ParserException", "PermissionException"),  # DuckDB
        *("UndefinedTable", "UndefinedColumn", "UndefinedFunction", "AmbiguousColumn", "InvalidSchemaName"),
        *("SyntaxError", "InsufficientPrivilege"),  # Postgres
        *("AnalysisException", "ParseException"),  # Spark
        "TableNotFound",  # Ibis
    }
)


def class_of(problem: BaseException) -> str:
    """The class of an error and nothing of its message, in which a cell may stand.

    >>> class_of(ValueError("ann has flu"))
    'ValueError'
    """
    if isinstance(problem, UnicodeDecodeError):
        return "it is not UTF-8 text"
    if isinstance(problem, UnicodeEncodeError):
        return "its path or a text in it is not UTF-8"
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror
    return str(problem) if isinstance(problem, csv.Error) else type(problem).__name__


def words_before_data(problem: BaseException) -> str:
    """What a database says of a question that it could not read; of any other error its class alone."""
    if type(problem).__name__ not in BEFORE_DATA or _of_a_function(problem):
        return class_of(problem)
    return first_line(problem)


def _of_a_function(problem: BaseException) -> bool:
    """Whether a function of Postgres said it: one is run while a question is planned, and reads any table."""
    return bool(getattr(getattr(problem, "diag", None), "context", None))


def first_line(problem: BaseException) -> str:
    """What a driver says before any data was read, without its candidates and positions."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return lines[0].rstrip(".;") if lines else type(problem).__name__


def whole(problem: BaseException) -> str:
    """An error with its own words, which are private."""
    return f"{type(problem).__name__}: {problem}"
