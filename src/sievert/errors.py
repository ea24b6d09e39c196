"""Every error Sievert raises on bad input.

A message names the argument, the offending value and where it stands, the rule, and the fix.
"""

from __future__ import annotations

from fractions import Fraction

__all__ = [
    "BudgetError",
    "ChannelError",
    "DataError",
    "EstimationError",
    "FileError",
    "GainError",
    "GraphError",
    "LabelError",
    "LedgerError",
    "LedgerOutputError",
    "MechanismError",
    "MetricError",
    "NotANumberError",
    "NotAcceptedError",
    "OutputError",
    "PolicyError",
    "PriorError",
    "QueryError",
    "SievertError",
    "TextError",
    "TooLargeError",
    "VectorError",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class SievertError(ValueError):
    """Base of all errors caused by input that Sievert cannot accept.

    `fix` says what to do in Python; `file_fix` says it to someone who wrote the input in a file. `private`
    are words that may quote private data, such as a driver's own: they are part of no message. `exit_code` is
    what the command line ends with.
    """

    exit_code = 2

    def __init__(self, message: str, *, fix: str = "", file_fix: str = "", private: str = "") -> None:
        super().__init__(f"{message}; {fix}" if fix else message)
        self._file_message = f"{message}; {file_fix}" if file_fix else message
        self._file_fix = file_fix
        self.private = private

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), self.args, self.__dict__)

    def on_command_line(self) -> str:
        """The message for someone who does not write Python, with the fix that fits best."""
        return self._file_message if self._file_fix else str(self)

    def in_file(self) -> str:
        """The message for someone who wrote the input in a file."""
        return self._file_message


def _restored(kind: type[SievertError], args: tuple[object, ...], fields: dict[str, object]) -> SievertError:
    """An error as it was pickled: its constructor may want arguments that the message no longer tells."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class ChannelError(SievertError):
    """A matrix that is not a channel, or a form of a channel that does not exist."""


class PriorError(SievertError):
    """A vector that is not a probability distribution over the secrets."""


class MetricError(SievertError):
    """A matrix that is not an extended pseudo-metric."""


class GraphError(SievertError):
    """An edge list that does not describe a simple graph on the given nodes."""


class LabelError(SievertError, TypeError):
    """A name of an input, output or value that cannot be one: a mapping, a set, a table."""


class PolicyError(SievertError):
    """A policy that is inconsistent or does not fit the other arguments."""


class QueryError(SievertError):
    """A query that cannot be computed over the policy's databases."""


class GainError(SievertError):
    """A gain or loss function that does not fit the secrets."""


class MechanismError(SievertError):
    """Parameters for which a mechanism does not exist."""


class EstimationError(SievertError):
    """Reports from which the asked estimate cannot be made."""


class TextError(SievertError):
    """A document, a vocabulary or an embedding that cannot be used."""


class VectorError(SievertError):
    """Vectors, a hash or codes that cannot be used, or that do not belong together."""


class FileError(SievertError):
    """A file that cannot be read, or a key in it that is wrong.

    `key` leads to what is wrong, by the names of tables and keys and the places in lists; it is empty where
    that is the file itself.
    """

    def __init__(
        self,
        message: str,
        *,
        key: tuple[str | int, ...] = (),
        fix: str = "",
        file_fix: str = "",
        private: str = "",
    ) -> None:
        super().__init__(message, fix=fix, file_fix=file_fix, private=private)
        self.key = key


class OutputError(FileError):
    """A result that could not be written or finished: the disk, permissions, data that changed meanwhile."""

    exit_code = 3


class DataError(SievertError):
    """A row of data that the file does not say how to treat; nothing was charged."""

    exit_code = 4


class LedgerError(SievertError):
    """A budget ledger that is damaged, in use, or asked for something it does not know."""


class LedgerOutputError(LedgerError, OutputError):
    """A ledger that could not be read, written or locked at this moment."""

    exit_code = 3


class BudgetError(LedgerError):
    """A release that would spend more than is left.

    `requested`, `remaining` and `difference` are exact, and in the ledger's `currency`, "eps" or "rho".
    """

    exit_code = 1

    def __init__(self, message: str, *, requested: Fraction, remaining: Fraction, currency: str) -> None:
        super().__init__(message)
        self.currency = currency
        self.requested = requested
        self.remaining = remaining
        self.difference = requested - remaining


class NotAcceptedError(SievertError):
    """A release that exceeds a limit of the file's [accept]."""

    exit_code = 1


class NotANumberError(SievertError):
    """An answer that came out as NaN, beyond what floats can hold, and is not given; `quantity` names it."""

    def __init__(self, quantity: str) -> None:
        super().__init__(
            f"{quantity} is not a number: what it is computed from is beyond floating-point numbers, so "
            "there is no answer; give parameters that are nearer to 1, or exact numbers such as '1/3'"
        )
        self.quantity = quantity


class TooLargeError(SievertError):
    """Something that would have to be enumerated or stored and is too large for that."""

    def __init__(self, message: str, *, size: int | float, fix: str = "", file_fix: str = "") -> None:
        super().__init__(message, fix=fix, file_fix=file_fix)
        self.size = size
