"""Small changes to arithmetic, each of which some test should notice: signs, factors, transposes, indices, reductions.

A change replaces one piece of the text of a file and leaves the rest as it is. What is no arithmetic is left alone:
annotations, defaults, constants of modules and classes, errors and their words.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

SKIPPED_FUNCTIONS = {"describe", "described", "__check_init__", "__post_init__", "__repr__"}
"""They write words or refuse arguments."""
SKIPPED_CALLS = {"field", "isinstance", "partial", "cast", "print"}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
OTHER_NAMES = {
    "mean": "median",
    "median": "mean",
    "sum": "mean",
    "maximum": "minimum",
    "minimum": "maximum",
    "max": "min",
    "min": "max",
    "argmax": "argmin",
    "any": "all",
    "all": "any",
    "sin": "cos",
    "cos": "sin",
    "tril": "triu",
    "zeros_like": "ones_like",
}
LEFT_OUT = {"sqrt", "exp", "log", "abs", "swapaxes", "transpose", "erf", "cumsum"}
"""Functions whose first argument takes their place."""
GUARDS = 1e-3
"""Positive numbers below this keep divisions finite and factorisations possible; they are meant not to matter."""


@dataclass(frozen=True)
class Change:
    """One piece of a file, and what is to stand there instead."""

    function: str
    line: int
    kind: str
    before: str
    after: str
    start: int
    end: int
    """In bytes from the beginning of the file."""

    def apply(self, source: str) -> str:
        """The whole text with the change."""
        text = source.encode()
        return (text[: self.start] + self.after.encode() + text[self.end :]).decode()


def changes(source: str) -> list[Change]:
    """All changes to a file, from top to bottom."""
    lines = source.encode().splitlines(keepends=True)
    starts = [sum(map(len, lines[:i])) for i in range(len(lines))]
    found = []
    for function, node in _arithmetic(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        before = source.encode()[start:end].decode()
        for kind, other in _others(node):
            after = f"({ast.unparse(other)})" if isinstance(node, ast.BinOp | ast.UnaryOp) else ast.unparse(other)
            found.append(Change(function, node.lineno, kind, before, after, start, end))
    return sorted(found, key=lambda change: (change.start, change.end, change.kind))


def _arithmetic(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Every expression in the body of a function, with the name of the function."""

    def within(node: ast.AST, name: str) -> Iterator[tuple[str, ast.expr]]:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            if node.name in SKIPPED_FUNCTIONS:
                return
            inner = f"{name}.{node.name}".lstrip(".")
            for child in node.body:
                # Of a module and a class only the functions; of a function everything.
                if isinstance(node, ast.FunctionDef) or isinstance(child, ast.ClassDef | ast.FunctionDef):
                    yield from within(child, inner)
            return
        if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr) or _refuses(node):
            return
        if isinstance(node, ast.Call) and _name(node.func) in SKIPPED_CALLS:
            return
        if isinstance(node, ast.expr):
            yield name, node
        if isinstance(node, ast.AnnAssign):
            yield from within(node.value, name) if node.value else ()
            return
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.arguments):
                yield from within(child, name)

    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield from within(node, "")


def _refuses(node: ast.AST) -> bool:
    """Whether it is a condition under which nothing but an error follows."""
    return isinstance(node, ast.If) and all(isinstance(part, ast.Raise) for part in node.body) and not node.orelse


def _others(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """What may stand in the place of an expression, with the kind of change."""
    match node:
        case ast.BinOp(left, op, right) if not any(
            isinstance(side, ast.JoinedStr | ast.List) for side in (left, right)
        ):
            if type(op) in OPERATORS:
                yield "other operator", ast.BinOp(left, OPERATORS[type(op)](), right)
            if isinstance(op, ast.Mult):
                yield "factor left out", left
            # A square is the same either way round.
            if isinstance(op, ast.MatMult) and ast.unparse(left) != ast.unparse(right):
                yield "operands swapped", ast.BinOp(right, op, left)
            if isinstance(op, ast.Pow):
                yield "power left out", left
        case ast.UnaryOp(ast.USub(), operand) if not isinstance(operand, ast.Constant):
            yield "sign left out", operand
        case ast.UnaryOp(ast.Invert() | ast.Not(), operand):
            yield "negation left out", operand
        case ast.Constant(float(value)) if value == 0.0 or GUARDS <= value < 1e6:
            yield "other number", ast.Constant({0.0: 1.0, 2.0: 1.0}.get(value, 2.0 * value))
        case ast.Attribute(value, "T"):
            yield "transpose left out", value
        case ast.Compare(left, [op], [right]) if type(op) in COMPARISONS:
            yield "other comparison", ast.Compare(left, [COMPARISONS[type(op)]()], [right])
        case ast.BoolOp(op, values):
            yield "other connective", ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.Subscript(value, index, context) if _name(value) != "shape":
            yield from (("other index", ast.Subscript(value, other, context)) for other in _other_indices(index))
        case ast.Call():
            yield from _other_calls(node)


def _other_calls(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    name = _name(node.func)
    # Only of arrays is it known that they have the other function too.
    if name in OTHER_NAMES and (name not in ("mean", "sum") or _is_of_arrays(node, name)):
        yield "other function", _renamed(node, OTHER_NAMES[name])
    if name in LEFT_OUT and node.args:
        yield "function left out", node.args[0]
    if name == "where" and len(node.args) == 3:
        condition, first, second = node.args
        yield "branches swapped", ast.Call(node.func, [condition, second, first], node.keywords)
    if name == "range" and len(node.args) == 1:
        yield "one fewer", ast.Call(node.func, [ast.BinOp(node.args[0], ast.Sub(), ast.Constant(1))], [])
    if name == "einsum" and node.args and isinstance(node.args[0], ast.Constant):
        pattern = str(node.args[0].value)
        first = pattern.replace("->", ",").split(",")[0]
        if len(first) >= 2:
            turned = first[:-2] + first[-1] + first[-2] + pattern[len(first) :]
            yield "transposed", ast.Call(node.func, [ast.Constant(turned), *node.args[1:]], node.keywords)


def _other_indices(index: ast.expr) -> Iterator[ast.expr]:
    match index:
        case ast.Constant(0):
            yield ast.UnaryOp(ast.USub(), ast.Constant(1))
        case ast.UnaryOp(ast.USub(), ast.Constant(1)):
            yield ast.Constant(0)
        case ast.Slice(ast.Constant(int(first)), last, step):
            yield ast.Slice(ast.Constant(first + 1), last, step)
        case ast.Slice(first, ast.UnaryOp(ast.USub(), ast.Constant()) as last, step):
            yield ast.Slice(first, ast.BinOp(last, ast.Sub(), ast.Constant(1)), step)
        case ast.Slice(None, None, ast.UnaryOp()):
            yield ast.Slice(None, None, None)
        case ast.Tuple(parts, context):
            for place, part in enumerate(parts):
                for other in _other_indices(part):
                    yield ast.Tuple([*parts[:place], other, *parts[place + 1 :]], context)


def _is_of_arrays(node: ast.Call, name: str) -> bool:
    if not isinstance(node.func, ast.Attribute):
        return False
    return _name(node.func.value) in ("np", "jnp") or name == "sum"


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _renamed(node: ast.Call, name: str) -> ast.Call:
    other = copy.deepcopy(node)
    if isinstance(other.func, ast.Attribute):
        other.func.attr = name
    else:
        other.func = ast.Name(name, ast.Load())
    return other
