"""What a SELECT of a file may consist of: clauses, operators, functions and types that only compute on a row.

This is a list of what is understood, not of dangers: what does not stand here is refused, a function that a
database gets tomorrow as much as one that reads files today. Names are those of sqlglot's classes, which are
the same for every dialect; a function that it does not know by a class of its own stands in `NAMED`.
"""

from __future__ import annotations

__all__ = [
    "AGGREGATES",
    "CLAUSES",
    "EXPRESSIONS",
    "JOINING",
    "NAMED",
    "ROW_CHOICE",
    "TYPES",
    "UNITS",
]


def _listed(names: str) -> frozenset[str]:
    return frozenset(names.split())


# Of each part of a query, what it may consist of.
CLAUSES: dict[str, frozenset[str]] = {
    name: _listed(keys)
    for name, keys in {
        "Select": "with_ expressions distinct from_ joins where group having order",
        "Union": "with_ this expression distinct order",
        "Except": "with_ this expression distinct order",
        "Intersect": "with_ this expression distinct order",
        "Subquery": "this alias with_",
        "Table": "this alias db catalog",
        "TableAlias": "this columns",
        "Join": "this on side kind using",
        "With": "expressions",
        "CTE": "this alias materialized",
        "Group": "expressions",
        "Order": "expressions",
        "Ordered": "this desc nulls_first",
        "From": "this",
        "Where": "this",
        "Having": "this",
        "Distinct": "expressions",
        "Alias": "this alias",
        "Column": "this table",
        "Star": "",
        "Identifier": "this quoted",
        "In": "this expressions query",
        "Exists": "this",
        "Cast": "this to safe",
        "TryCast": "this to safe",
        "Filter": "this expression",
        "Between": "this low high",
    }.items()
}

# Operators and functions of one row. Random ones, those of time, session, system, files, sequences, settings,
# text patterns (whose time has no bound), and those that make long texts, lists or errors are not among them.
EXPRESSIONS = _listed(
    """
    Literal Null Boolean Paren Neg Not And Or Xor
    EQ NEQ GT GTE LT LTE NullSafeEQ NullSafeNEQ Is Between In Exists Like ILike Escape
    Add Sub Mul Div IntDiv Mod DPipe SafeDPipe
    Case If Coalesce Nullif Greatest Least Nvl2
    Cast TryCast AtTimeZone Interval
    Abs Sign Round Floor Ceil Sqrt Cbrt Exp Ln Log Pow Trunc
    Lower Upper Initcap Trim Length Substring Left Right Concat ConcatWs Replace StrPosition StartsWith
    EndsWith Contains Reverse
    Extract TimestampTrunc DateTrunc Year Quarter Month Week WeekOfYear Day DayOfMonth DayOfWeek DayOfWeekIso
    DayOfYear Hour Minute Second LastDay Date DateAdd DateSub DateDiff TsOrDsAdd TsOrDsToDate TsOrDsDiff
    TimestampDiff TimestampAdd TimestampSub MonthsBetween AddMonths TimeToStr TimeStrToTime StrToDate
    StrToTime MD5 SHA SHA2
    """
)
AGGREGATES = _listed(
    """
    Count Sum Avg Min Max CountIf Stddev StddevSamp StddevPop Variance VariancePop LogicalAnd LogicalOr Median
    """
)
# What makes a text longer than each of its parts.
JOINING = _listed("Concat ConcatWs DPipe SafeDPipe")
# Functions that sqlglot knows by name alone.
NAMED: dict[str, frozenset[str]] = {
    "duckdb": _listed("date_part isnan isfinite"),
    "postgres": _listed("date_part btrim make_date"),
    "spark": _listed("date_part make_date isnan"),
    "sqlite": _listed("instr"),
}
# What chooses rows by how many others there are, or by chance, and its name in a message.
ROW_CHOICE = {
    "limit": "LIMIT",
    "offset": "OFFSET",
    "sample": "a sample",
    "qualify": "QUALIFY",
    "TableSample": "a sample",
    "Limit": "LIMIT",
    "Fetch": "FETCH",
    "Offset": "OFFSET",
    "Window": "a window",
    "WindowSpec": "a window",
    "windows": "a window",
    "Rand": "RAND()",
    "Randn": "RANDN()",
    "Uuid": "UUID()",
}
# Types that a cell may be made into; none of them looks anything up in the database.
TYPES = _listed(
    """
    TINYINT SMALLINT INT BIGINT INT128 UTINYINT USMALLINT UINT UBIGINT UINT128 FLOAT DOUBLE DECIMAL DECIMAL32
    DECIMAL64 DECIMAL128 BIGDECIMAL BOOLEAN CHAR NCHAR VARCHAR NVARCHAR TEXT STRING BPCHAR DATE TIME TIMETZ
    TIMESTAMP TIMESTAMPTZ TIMESTAMPLTZ TIMESTAMPNTZ TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS DATETIME UUID
    INTERVAL
    """
)
# Words that say which part of a moment is meant.
UNITS = _listed(
    """
    MICROSECOND MICROSECONDS MILLISECOND MILLISECONDS SECOND SECONDS MINUTE MINUTES HOUR HOURS DAY DAYS WEEK
    WEEKS MONTH MONTHS QUARTER QUARTERS YEAR YEARS DECADE CENTURY ISODOW ISOYEAR DOW DOY DAYOFWEEK DAYOFYEAR
    WEEKDAY EPOCH
    """
)
