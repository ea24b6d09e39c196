"""Values that nobody should give and somebody will, as expressions; and other forms of the same value."""

NUMBERS = [
    "None", "True", "nan", "inf", "-inf", "-1", "0", "-0.0", "0.5", "1", "2", "3.7", "1e-300", "5e-324",
    "1e308", "40.0", "10**6", "10**9", "10**18", "2**63", "10**400", "-10**400", "1 + 2j",
    "np.float64('nan')", "np.float32(.5)", "np.int64(2)", "np.uint8(255)", "np.array(.5)", "np.array([2])",
    "np.bool_(True)", "Fraction(1, 3)", "Fraction(1, 10**400)", "Decimal('.5')", "Decimal('nan')",
    "Decimal('1e999999')", "pd.NA", "pd.NaT", "np.ma.masked", "datetime.date(2020, 1, 1)",
    "np.datetime64('2020-01-01')", "np.longdouble('.5')",
    "np.timedelta64(2, 's')", "2**1000", "Decimal('1e-400')",
]  # fmt: skip
TEXTS = [
    "'abc'", "''", "'inf'", "'nan'", "'1/3'", "'1/0'", "'1e400'", "'1e-99999999'", "'1e99999999'", "'१/३'",
    "'0x10'", "'9' * 5000", "'\\ud800'", "'a' * 10**5", "b'x'", "bytearray(b'ab')", "'\\0'", "'uniform'",
    "'worst'",
]  # fmt: skip
COLLECTIONS = [
    "[]", "()", "{}", "set()", "[[]]", "[None]", "[nan] * 3", "[inf] * 3", "[-inf] * 3", "[1, 0, 0]",
    "[.5, .3, .2]", "[.5, .5]", "[.2] * 5", "[-.5, 1, .5]", "[1e308] * 3", "[5e-324] * 3", "[10**400] * 3",
    "[2**63] * 3", "[0, 0, 0]", "['a', 'b', 'c']", "['1/2', '1/4', '1/4']", "['1e400'] * 3", "[1j] * 3",
    "[[1, 2], [3]]", "[object()] * 3", "[[.5, .5], [.5, .5]]", "[[nan] * 3] * 3", "[[0, 1], [1, 0]]",
    "[[0, -1], [-1, 0]]", "[[0, 5], [1, 0]]", "[0, 0, 1]", "{0: .5, 1: .3, 2: .2}", "{2: .2, 0: .5, 1: .3}",
    "{'x': 1}", "{0: nan, 1: 1, 2: 0}", "{1, 2, 3}", "[{}, {}, {}]", "[{1}, [2], 3]", "itertools.count()",
    "itertools.repeat(.5)", "range(3)", "range(10**12)", "iter([.5, .3, .2])",
    "(x for x in [.5, .3, .2])", "nested(2000)", "recursive()", "[(0, 1)]", "[(0, 9)]", "[(0,)]",
    "[(0, 1, 2, 3)]", "((0, 0), (0, 0))", "[True, False, True]", "[[], [], []]", "range(10**30)",
    "range(3, 0, -1)", "[.5, np.ma.masked, .5]", "[[np.ma.masked, 0], [0, 1]]", "[pd.NA] * 3",
    "{0: np.ma.masked, 1: .5, 2: .5}", "{nan: 1, 1: 0, 2: 0}", "[Decimal('nan')] * 3", "frozenset({1})",
    "[np.datetime64('NaT')] * 3", "[Fraction(1, 3)] * 3", "[-1, 2**63 + 5]",
]  # fmt: skip
ARRAYS = [
    "np.eye(3)", "np.eye(3) * 1j", "np.eye(3, dtype=np.float32)", "np.eye(3, dtype=object)",
    "np.full((3, 3), nan)", "np.eye(3, dtype=bool)", "np.full((3, 3), inf)", "-np.eye(3)",
    "np.zeros((0, 0))", "np.zeros((3, 0))", "np.zeros((0, 3))", "np.zeros((2, 2, 2))", "np.zeros(3)",
    "np.array([])", "np.ones((3, 3))", "np.array(['a', 'b', 'c'])",
    "np.array([.5, .3, .2], dtype=np.float16)", "np.array([.5, .3, .2], dtype='>f8')",
    "np.array([('a', 1)], dtype=[('x', 'U1'), ('y', int)])", "np.ma.array([.5, .3, .2], mask=[0, 1, 0])",
    "np.array([None, 1, 2])", "np.array([.5, 0, .3, 0, .2])[::2]", "np.asfortranarray(np.eye(3))",
    "readonly(np.array([.5, .3, .2]))", "np.array(['2020-01-01'], dtype='M8[D]')", "np.matrix(np.eye(3))",
    "sparse.csr_array(np.eye(3))", "memoryview(b'abc')", "np.array([[1, 2], [3, 4]], dtype=np.int8)",
    "np.array([[2**63, 0], [0, 1]], dtype=np.uint64)", "np.array([1, 2, 3], dtype='m8[s]')",
    "np.ma.masked_less(np.eye(3), .5)",
]  # fmt: skip
FRAMES = [
    "pd.Series([.2, .3, .5], index=[2, 1, 0])", "pd.Series([.5, .3, .2], index=['x', 'y', 'z'])",
    "pd.Series([.5, .3, .2], index=[0, 0, 1])", "pd.Series([.5, None, .5])", "pd.Series([], dtype=float)",
    "pd.Series(['a', 'b', 'c'])", "pd.Series([.5, .5], dtype='Float64')", "pd.DataFrame(np.eye(3))",
    "pd.DataFrame(np.eye(3), index=[2, 1, 0], columns=[0, 1, 2])",
    "pd.DataFrame({'a': [1, 0], 'b': ['x', 'y']})", "pd.DataFrame()", "pd.Index([0, 1, 2])",
    "pd.Categorical(['a', 'b'])", "pl.Series([.5, .3, .2])", "pl.Series([.5, None, .5])",
    "pl.DataFrame({'a': [1., 0.], 'b': [0., 1.]})", "pl.DataFrame()",
    "pl.DataFrame({'value': [0, 1, 2], 'count': [5, 3, 2]})", "pa.array([.5, .3, .2])",
    "pa.array([.5, None, .5])", "pa.table({'a': [.5], 'b': [.5]})", "pa.array([])",
    "pl.LazyFrame({'a': [1.0]})",
]  # fmt: skip
THINGS = [
    "object()", "Ellipsis", "int", "sv", "ValueError('x')", "lambda *a, **k: 1 / 0", "lambda *a, **k: None",
    "abs", "sv.Channel.identity(1)", "sv.Channel.identity(4)", "sv.Channel.identity(['a', 'b', 'c'])",
    "sv.metrics.line(4)", "sv.metrics.discrete(['a', 'b', 'c'])", "sv.metrics.line(1)",
    "sv.Metric(np.where(np.eye(3) == 1, 0, inf))", "sv.gains.identity(4)", "sv.losses.absolute(4)",
    "sv.gains.tries(3, 2)", "sv.losses.shannon(3)", "sv.Policy.local(3)",
    "sv.Policy.local(['a', 'b', 'c'])", "two_records", "sv.Query.sum()", "sv.Query.record()",
    "sv.graphs.path(4)", "sv.graphs.complete(1)", "sv.secrets.complete(3)",
    "sv.mechanisms.geometric(3, 1.0)", "sv.mechanisms.randomised_response(10**6, 1.0)",
    "sv.Channel([[1, 0, 0]] * 3)", "[rr, rr]", "[rr, line]", "Path('.')", "'pipe'", "Path('folder')",
    "'missing/x'",
    "'x' * 300", "np.random.default_rng(1)", "print",
]  # fmt: skip
EVERY = NUMBERS + TEXTS + COLLECTIONS + ARRAYS + FRAMES + THINGS

# No parameter of any function means these: to answer is to ignore them. Labels may be any object.
NEVER = {
    "1 + 2j", "Ellipsis", "ValueError('x')", "nan", "np.eye(3) * 1j", "np.full((3, 3), nan)", "object()",
}  # fmt: skip

# The same distribution over 0, 1, 2 in other forms: the answer must not change.
SAME = {
    "[.5, .3, .2]": [
        "(.5, .3, .2)", "np.array([.5, .3, .2])", "readonly(np.array([.5, .3, .2]))",
        "np.array([.5, .3, .2], dtype='>f8')", "np.array([.5, 0, .3, 0, .2])[::2]",
        "np.array([.5, .3, .2], dtype=object)", "pd.Series([.2, .3, .5], index=[2, 1, 0])",
        "pd.Series([.5, .3, .2])", "pl.Series([.5, .3, .2])", "pa.array([.5, .3, .2])",
        "{2: .2, 0: .5, 1: .3}",
    ],
    "[1.0, 2.0, 3.0]": [
        "(1, 2, 3)", "np.array([1, 2, 3], dtype=np.int8)", "{2: 3.0, 1: 2.0, 0: 1.0}", "pl.Series([1, 2, 3])",
        "pd.Series([3, 2, 1], index=[2, 1, 0])", "pa.array([1.0, 2.0, 3.0])",
    ],
    "[50, 30, 20]": [
        "(50, 30, 20)", "np.array([50, 30, 20])", "np.array([50, 30, 20], dtype=np.uint8)",
        "{2: 20, 0: 50, 1: 30}", "pd.Series([20, 30, 50], index=[2, 1, 0])", "pl.Series([50, 30, 20])",
        "pa.array([50, 30, 20])", "np.array([50., 0, 30, 0, 20])[::2]",
    ],
}  # fmt: skip
