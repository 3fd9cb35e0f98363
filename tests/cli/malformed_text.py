"""Malformed CSV files: structure, encoding, cells."""

from tests.cli.malformed import BadFiles, cell, column, record


def bad(name: str, text: str | bytes, *mentions: str, **columns: object) -> BadFiles:
    return BadFiles(name, {"a.csv": text}, ("a.csv", *mentions), columns)


STRUCTURE = [
    bad("empty file", "", "empty", "header"),
    bad("line breaks only", "\n\n\n", "empty"),
    bad("comments only", "# logged by rig 3\n# no data\n", "empty"),
    bad("byte order mark only", b"\xef\xbb\xbf", "empty"),
    bad("header only", "t,u,y\n", "no rows", "line 1"),
    bad("header and blank lines", "t,u,y\n\n\n", "no rows"),
    bad("one row", record(rows=1), "only 1 row", "line 2"),
    bad("no header", "0.0,1.0,2.0\n0.1,1.1,2.1\n", "line 1", "column names"),
    bad("no header, exponents", "1e-3,-2.0,+3\n0.1,1.1,2.1\n", "line 1", "column names"),
    bad("no header, decimal commas", "0,1;1,5;2,0\n0,2;1,1;2,1\n", "line 1"),
    bad("blanks between columns", record(header="t u y", sep=" "), "line 1", "blanks", "--delimiter"),
    bad("bars between columns", record(header="t|u|y", sep="|"), "line 1", "|", "--delimiter"),
    bad("two delimiters in the header", record(header="t;u,y"), "line 1", "a comma", "a semicolon"),
    bad("wrong delimiter given", record(), "no column 'y'", "t,u,y", delimiter=";"),
    bad("short row", record({7: "0.5,1.0"}), "line 7", "2 cells", "3 columns"),
    bad("long row", record({9: "0.7,1.0,2.0,3.0"}), "line 9", "4 cells"),
    bad("last row cut off", record({21: "1.9,0."}), "line 21", "cut off"),
    bad("blank line inside", record({8: ""}), "line 8", "empty line"),
    bad("two records with a blank line between", record() + "\n" + record(), "line 22", "file of its own"),
    bad("quotation mark left open", record({6: '0.4,"1.0,2.0'}), "line"),
    bad("cell over two lines", record({6: '0.4,"1.0\n",2.0'}), "line 6", "quot"),
    bad("letters after a quoted cell", record({6: '0.4,"1.0"x,2.0'}), "line 6", "quotation"),
    bad("zero byte", record().encode().replace(b"0.5", b"0\x005", 1), "line 3", "zero byte"),
    bad("UTF-16", record().encode("utf-16"), "UTF-16", "UTF-8"),
    bad("Latin-1", "t,u,y,°C\n".encode("latin-1") + record().encode(), "line 1", "UTF-8"),
    bad("header repeated inside", record({12: "t,u,y"}), "line 12", "'y' is not a number"),
    bad("a spreadsheet renamed", b"PK\x03\x04\x14\x00\x06\x00\x08\x00" + bytes(40), "zero byte"),
]

NUMBERS = [
    bad("decimal comma, semicolons", record({5: "0,3;1,0;2,5"}, header="t;u;y", sep=";"), "line 5", "'2,5'", "decimal"),
    bad("decimal comma, commas", "u,y\n" + "1,5,2,5\n" * 20, "line 2", "4 cells", "--decimal"),
    bad("decimal comma asked, commas between", record(), "line 1", "';'", decimal=","),
    bad("decimal comma asked, points there", record(header="t;u;y", sep=";"), "line 2", "point", decimal=","),
    BadFiles("decimal sign unknown", {"a.csv": record()}, ("decimal", "'x'"), {"decimal": "x"}),
    BadFiles("two characters as delimiter", {"a.csv": record()}, ("delimiter", "'||'"), {"delimiter": "||"}),
    BadFiles(
        "delimiter equals decimal sign", {"a.csv": record()}, ("delimiter", "','"), {"delimiter": ",", "decimal": ","}
    ),
    bad("text in an output", cell("y", 6, "sensor off"), "line 6", "column 'y'", "'sensor off'", "empty"),
    bad("text in an input", cell("u", 13, "high"), "line 13", "column 'u'", "'high'"),
    bad("unit in a cell", cell("y", 4, "1.5 V"), "line 4", "unit"),
    bad("degree sign in a cell", cell("y", 4, "20°C"), "line 4", "unit"),
    bad("per cent", cell("u", 4, "50%"), "line 4", "unit"),
    bad("truth value", cell("u", 5, "True"), "line 5", "1 and 0"),
    bad("on and off", cell("u", 5, "off"), "line 5", "1 and 0"),
    bad("thousands with blanks", cell("y", 5, "1 000 000"), "line 5", "thousands"),
    bad("thousands in quotes", cell("y", 5, '"1,000,000"'), "line 5", "thousands"),
    bad("underscore", cell("y", 5, "1_000"), "line 5", "'1_000'"),
    bad("hexadecimal", cell("y", 5, "0x1F"), "line 5", "'0x1F'"),
    bad("Fortran exponent", cell("y", 5, "1.0D3"), "line 5", "1e5"),
    bad("other digits", cell("y", 5, "１２"), "line 5"),
    bad("two points", cell("y", 5, "1.2.3"), "line 5", "'1.2.3'"),
    bad("two signs", cell("u", 5, "+-1"), "line 5"),
    bad("exponent without number", cell("u", 5, "1e"), "line 5"),
    bad("a dash for missing", cell("y", 5, "-"), "line 5", "empty"),
    bad("spreadsheet error", cell("y", 5, "#DIV/0!"), "line 5", "'#DIV/0!'"),
    bad("date in an output", cell("y", 5, "2024-01-31"), "line 5"),
    bad("formula", cell("y", 5, "=A1+B1"), "line 5"),
    bad("missing input", cell("u", 9, ""), "line 9", "column 'u'", "missing", "interpolate"),
    bad("NaN in an input", cell("u", 10, "NaN"), "line 10", "column 'u'"),
    bad("n/a in an input", cell("u", 11, "n/a"), "line 11", "column 'u'"),
    bad("many missing inputs", column("u", ""), "line 2", "19 more"),
    bad("infinite input", cell("u", 12, "inf"), "line 12", "infinite"),
    bad("minus infinite output", cell("y", 13, "-Infinity"), "line 13", "infinite", "empty"),
    bad("huge output", cell("y", 14, "1e200"), "line 14", "1e+200"),
    bad("huge input", cell("u", 14, "-9e150"), "line 14", "column 'u'"),
    bad("too large for a double", cell("u", 15, "1e999"), "line 15", "infinite"),
]
