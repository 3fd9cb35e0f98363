"""Records that are no use: columns, time stamps, episodes, files."""

from tests.cli.malformed import BadFiles, cell, column, line, record


def bad(name: str, text: str | bytes, *mentions: str, **columns: object) -> BadFiles:
    return BadFiles(name, {"a.csv": text}, ("a.csv", *mentions), columns)


def selected(name: str, *mentions: str, **columns: object) -> BadFiles:
    """A good file with a selection that cannot be meant; no file is to blame."""
    return BadFiles(name, {"a.csv": record()}, mentions, columns)


def with_episode(labels: list[str]) -> str:
    return "run,t,u,y\n" + "".join(f"{label},{line(i)}\n" for i, label in enumerate(labels))


COLUMNS = [
    bad("no such output", record(), "no column 'angle'", "'y'", outputs="angle"),
    bad("no such input", record(), "no column 'torque'", "'u'", inputs="torque"),
    bad("other case", record(header="t,u,Y"), "no column 'y'", "did you mean 'Y'"),
    bad("misspelt", record(header="time,torque,angle"), "did you mean 'torque'", outputs="angle", inputs="torqe"),
    bad("name in two columns", record(header="y,u,y"), "2 columns are called 'y'", "rename"),
    bad("input in two columns", record(header="u,u,y"), "2 columns are called 'u'", "columns 1, 2"),
    bad("no output measured", column("y", ""), "column 'y'", "empty"),
    bad("all outputs NaN", column("y", "NaN"), "column 'y'"),
    bad("constant output", column("y", "4.2"), "column 'y'", "4.2", "leave it out"),
    bad("constant input", column("u", "0"), "column 'u'", "leave it out"),
    bad(
        "output copies input",
        "u,y\n" + "".join(f"{i % 7},{i % 7}\n" for i in range(30)),
        "column 'u'",
        "'y'",
        "leave one",
    ),
    bad(
        "input copies input",
        "u,v,y\n" + "".join(f"{i % 7},{i % 7},{i % 5}\n" for i in range(30)),
        "column 'v'",
        "'u'",
        inputs=["u", "v"],
    ),
    selected("output also input", "'y'", "output", "input", inputs="y"),
    selected("output twice", "'y'", "output twice", outputs=["y", "y"]),
    selected("time also input", "'u'", "time", time="u"),
    selected("episode also output", "'y'", "episode", episode="y"),
    selected("dt zero", "dt", "positive", dt=0),
    selected("dt negative", "dt", "positive", dt=-0.1),
    selected("dt infinite", "dt", "finite", dt=float("inf")),
    selected("dt not a number", "dt", "positive", dt=float("nan")),
    selected("resample without time", "time", resample=0.1),
    selected("resample negative", "resample", time="t", resample=-1),
    BadFiles("resample too coarse", {"a.csv": record()}, ("a.csv", "smaller"), {"time": "t", "resample": 60}),
    BadFiles("resample too fine", {"a.csv": record()}, ("a.csv", "larger"), {"time": "t", "resample": 1e-9}),
]

TIME = [
    bad("no such time column", record(), "no column 'time'", "'t'", time="time"),
    bad("time goes back", cell("t", 8, "0.2"), "line 8", "goes back", "sort", time="t"),
    bad("time repeats", cell("t", 8, "0.5"), "line 8", "repeats", "line 7", time="t"),
    bad("two records in one file", record() + record().partition("\n")[2], "line 22", "--episode", time="t"),
    bad("rows lost", record({8: None, 9: None}), "line 7", "line 8", "2 samples are missing", "--resample", time="t"),
    bad("one row lost", record({8: None}), "1 sample is missing", time="t"),
    bad("uneven time", cell("t", 8, "0.64"), "line 7", "line 8", "--resample", time="t"),
    bad("time missing", cell("t", 8, ""), "line 8", "column 't'", "missing", time="t"),
    bad("time infinite", cell("t", 8, "inf"), "line 8", "column 't'", time="t"),
    bad("text in time", cell("t", 8, "later"), "line 8", "column 't'", "'later'", time="t"),
    bad("time runs backwards", "t,u,y\n3,1,2\n2,2,3\n1,3,5\n", "line 3", "goes back", time="t"),
    bad("date among numbers", cell("t", 8, "2024-01-31 10:00:00"), "line 8", "column 't'", time="t"),
    bad(
        "number among dates",
        "t,u,y\n2024-01-31 10:00:00,1,2\n2024-01-31 10:00:01,2,3\n17,3,5\n",
        "line 4",
        "one way",
        time="t",
    ),
    bad("impossible date", "t,u,y\n2024-01-31,1,2\n2024-02-31,2,3\n2024-03-31,3,5\n", "line 3", time="t"),
    bad(
        "time zone on some",
        "t,u,y\n2024-01-31 10:00:00,1,2\n2024-01-31 10:00:01+01:00,2,3\n2024-01-31 10:00:02,3,5\n",
        "line 3",
        time="t",
    ),
    BadFiles(
        "mixed time steps",
        {"a.csv": record(), "b.csv": "t,u,y\n" + "".join(f"{i / 5:.1f},{i % 3},{i % 4}\n" for i in range(20))},
        ("b.csv", "0.2", "0.1", "resample"),
        {"time": "t"},
    ),
]

EPISODES = [
    bad("no such episode column", record(), "no column 'run'", episode="run"),
    bad("episode cell empty", with_episode(["a"] * 5 + [""] + ["b"] * 5), "line 7", "column 'run'", episode="run"),
    bad("episode comes back", with_episode(["a"] * 5 + ["b"] * 5 + ["a"] * 5), "line 12", "'a'", "sort", episode="run"),
    bad("episode of one row", with_episode(["a"] * 5 + ["b"] + ["c"] * 5), "run=b", "line 7", episode="run"),
    bad(
        "episode without outputs",
        "run,u,y\n" + "".join(f"{'ab'[i // 5]},{i % 3},{'' if i < 5 else i % 4}\n" for i in range(10)),
        "run=a",
        "no output",
        episode="run",
    ),
    BadFiles("second file without outputs", {"a.csv": record(), "b.csv": column("y", "")}, ("b.csv", "no output")),
    BadFiles("second file lacks a column", {"a.csv": record(), "b.csv": record(header="t,u,z")}, ("b.csv", "'y'")),
    BadFiles(
        "an output that no file measures",
        {"a.csv": "u,y,z\n" + "".join(f"{i % 3},{i % 5},\n" for i in range(20))},
        ("a.csv", "column 'z'", "empty"),
        {"outputs": ["y", "z"]},
    ),
]

PATHS = [
    BadFiles("no such file", {}, ("gone.csv", "no such file"), given=("gone.csv",)),
    BadFiles("pattern without match", {}, ("*.csv", "no file matches"), given=("*.csv",)),
    BadFiles("a folder", {"in/a.csv": record()}, ("folder", "*.csv"), given=("in",)),
    BadFiles("the same file twice", {"a.csv": record()}, ("a.csv", "twice"), given=("a.csv", "a.csv")),
    BadFiles("Excel", {"a.xlsx": b"PK\x03\x04"}, ("a.xlsx", "CSV")),
    BadFiles("old Excel", {"a.xls": b"\xd0\xcf"}, ("a.xls", "CSV")),
    BadFiles("compressed", {"a.csv.gz": b"\x1f\x8b"}, ("a.csv.gz", "unpack")),
    BadFiles("bare array", {"a.npy": b"\x93NUMPY"}, ("a.npy", "savez")),
    BadFiles("pickle", {"a.pkl": b"\x80\x04."}, ("a.pkl", "run code")),
    BadFiles("a model for a record", {"a.gpssm": b"x"}, ("a.gpssm", "model")),
    BadFiles("unknown ending", {"a.log": record()}, ("a.log", ".csv")),
    BadFiles("no ending", {"data": record()}, ("data", ".csv")),
]
