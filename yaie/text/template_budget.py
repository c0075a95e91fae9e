"""Chat templates within a budget, in this process: what most conversations need, and nothing else.

A job that waits for another process waits for the scheduler of the system. So a short conversation
is rendered here if its template consists of the nodes, filters, tests, methods and operators below.
None of them takes more than the time to read its operands, or makes more text than it is charged
for; each pass of a loop and each call of a macro compares the clock with the job's deadline. A job
that meets anything else, or its budget's end, is given to `TemplateRenderer`'s processes.
"""

from __future__ import annotations

import json
import operator
import threading
import time
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from types import BuiltinMethodType
from typing import Any

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.runtime import Context, Macro, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range

from yaie.text.template_worker import (
    TemplateNamespace,
    make_environment,
    raise_exception,
    render_compiled,
    strftime_now,
)

MAX_INPUT_BYTES = 32 * 1024
MAX_CHARS = 512 * 1024  # made by one job, in all
MAX_NODES = 4000
MAX_TEMPLATE_CHARS = 64 * 1024
SECONDS = 0.02
_LONGEST_RANGE = 1000
_SHORT = 64  # characters of an argument that is searched for at each place of a text

_NODES: tuple[type[nodes.Node], ...] = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Const, nodes.Name, nodes.NSRef,
    nodes.If, nodes.CondExpr, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not,
    nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Test, nodes.Filter, nodes.Call,
    nodes.Keyword, nodes.Concat, nodes.Add, nodes.Sub, nodes.Mod, nodes.Neg, nodes.For,
    nodes.Assign, nodes.AssignBlock, nodes.Macro, nodes.Break, nodes.Continue, nodes.List,
    nodes.Tuple, nodes.Dict, nodes.Pair,
)  # fmt: skip
_TESTS = {
    "defined", "undefined", "none", "string", "mapping", "iterable", "sequence", "boolean",
    "number", "integer", "float", "true", "false", "==", "eq", "equalto", "!=", "ne", "in",
    "odd", "even",
}  # fmt: skip
_NAMES = {"range", "namespace", "raise_exception", "strftime_now"}
_FUNCTIONS = (TemplateNamespace, raise_exception)
_PASSED = {"_loop_vars", "_block_vars"}  # by compiled code
_OPERATORS = {"+": operator.add, "-": operator.sub, "%": operator.mod}
_NUM_ARGUMENTS = {"default": 2, "d": 2, "replace": 2}  # of filters
# Methods by the type of their object; methods of text take short arguments.
_METHODS: dict[type, set[str]] = {
    str: {"strip", "lstrip", "rstrip", "startswith", "endswith", "split", "find", "lower",
          "upper", "title", "capitalize", "removeprefix", "removesuffix", "isdigit", "replace"},
    dict: {"items", "keys", "values", "get"},
}  # fmt: skip


class OverBudget(Exception):
    """A job that needs a separate process."""


class _Budget(threading.local):
    """Rest of the budget, for the job of a thread."""

    chars = 0
    deadline = 0.0  # by the clock, which costs less to read
    processor = 0.0  # of this thread, seconds


_budget = _Budget()


def _charge(value: Any) -> Any:
    """Return a value that an operation made, and take its size from the budget."""
    if type(value) is str:
        left = _budget.chars = _budget.chars - len(value)
    elif isinstance(value, list | tuple):
        left = _budget.chars = _budget.chars - 16 * len(value)
    else:
        return value
    if left < 0:
        raise OverBudget
    return value


def _show(value: Any) -> Any:
    """Return a value that is printed: no list or mapping, whose text may be of any length."""
    if (
        type(value) is str
        or value is None
        or isinstance(value, str | bool | int | float | Undefined)
    ):
        return value
    raise OverBudget


def _join(values: Any) -> str:
    text = "".join([str(_show(each)) for each in values])
    _charge(text)
    return text


def _replace(text: Any, old: Any, new: Any) -> str:
    if not all(isinstance(each, str) for each in (text, old, new)) or not 0 < len(old) <= _SHORT:
        raise OverBudget
    if text.count(old) * len(new) > _budget.chars:
        raise OverBudget
    return str(text).replace(old, new)


def _write_json(value: Any, indent: Any = None, ensure_ascii: bool = False) -> str:
    text = json.dumps(value, ensure_ascii=ensure_ascii)
    if indent is None:
        return text
    if type(indent) is not int or not 0 <= indent <= 4 or len(text) > 8192:
        raise OverBudget
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)


def _trim(text: Any) -> str:
    return str(_show(text)).strip()


def _take_default(value: Any, default: Any = "", boolean: bool = False) -> Any:
    return default if isinstance(value, Undefined) or (boolean and not value) else value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, str | list | tuple | dict | range | Undefined):
        raise OverBudget
    return list(value)


def _length(value: Any) -> int:
    if not isinstance(value, str | list | tuple | dict | range | Undefined):
        raise OverBudget
    return len(value)


def _item(values: list[Any], at: int) -> Any:
    return values[at] if values else Undefined("the sequence is empty")


_FILTERS: dict[str, Callable[..., Any]] = {
    "trim": _trim,
    "tojson": _write_json,
    "default": _take_default,
    "d": _take_default,
    "length": _length,
    "count": _length,
    "list": _list,
    "items": lambda value: _list(value.items() if isinstance(value, dict) else None),
    "replace": _replace,
    "string": lambda value: str(_show(value)),
    "upper": lambda value: str(_show(value)).upper(),
    "lower": lambda value: str(_show(value)).lower(),
    "capitalize": lambda value: str(_show(value)).capitalize(),
    "first": lambda value: _item(_list(value), 0),
    "last": lambda value: _item(_list(value), -1),
}


class _Generator(CodeGenerator):
    """Generator of code whose slices are charged."""

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802
        """Write an index, or a call for a slice."""
        if not isinstance(node.arg, nodes.Slice):
            super().visit_Getitem(node, frame)
            return
        self.write("environment.cut(")
        self.visit(node.node, frame)
        for bound in (node.arg.start, node.arg.stop, node.arg.step):
            self.write(", ")
            if bound is None:
                self.write("None")
            else:
                self.visit(bound, frame)
        self.write(")")


def _cut(value: Any, start: Any, stop: Any, step: Any) -> Any:
    return _charge(value[start:stop:step])


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox, in which each operation that may make text is charged."""

    intercepted_binops = frozenset({"+", "-", "%"})
    code_generator_class = _Generator
    concat = staticmethod(_join)
    cut = staticmethod(_cut)

    @property
    def tick(self) -> None:
        """Check of the job's deadline: compiled loops and macros read this property."""
        if time.monotonic() > _budget.deadline and time.thread_time() > _budget.processor:
            raise OverBudget

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Return the sum of texts, or the result of small numbers."""
        if type(left) is type(right) is str and operator == "+":
            return _charge(left + right)
        kinds = {type(left), type(right)}
        if not kinds <= {int, float} or max(abs(left), abs(right)) > 2**53:
            raise OverBudget
        return _OPERATORS[operator](left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """Call one of the known functions and methods."""
        if isinstance(__obj, BuiltinMethodType):
            kind = type(__obj.__self__)
            if __obj.__name__ not in _METHODS.get(kind, set()) or kwargs.keys() - _PASSED:
                raise OverBudget
            if __obj.__name__ == "replace":
                return _charge(_replace(__obj.__self__, *args))
            if kind is str and not all(
                isinstance(each, str) and len(each) <= _SHORT for each in args
            ):
                raise OverBudget
            return _charge(__obj(*args))
        is_clock = __obj is strftime_now and len(args) == 1 and len(args[0]) <= _SHORT
        if __obj is safe_range and len(numbers := safe_range(*args)) <= _LONGEST_RANGE:
            return numbers
        if is_clock or isinstance(__obj, Macro) or __obj in _FUNCTIONS:
            return super().call(__context, __obj, *args, **kwargs)
        raise OverBudget


def _charged(work: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: _charge(work(*args, **kwargs))


_ENVIRONMENT = make_environment(_Environment)
_ENVIRONMENT.filters = {name: _charged(work) for name, work in _FILTERS.items()}
_ENVIRONMENT.tests = {name: _ENVIRONMENT.tests[name] for name in _TESTS}
_ENVIRONMENT.finalize = _show


class BudgetedTemplate:
    """A compiled template of known parts."""

    def __init__(self, tree: nodes.Template) -> None:
        for kind in (nodes.For, nodes.Macro):
            node: Any
            for node in tree.find_all(kind):
                node.body.insert(0, nodes.ExprStmt(nodes.EnvironmentAttribute("tick")))
        self._template = _ENVIRONMENT.from_string(tree)
        # The operator `~` calls this function of the compiled module.
        self._template.root_render_func.__globals__["str_join"] = _join
        self._credit = 8

    def render(self, variables: Mapping[str, Any]) -> str | None:
        """Return the prompt; None if another process has to render it, or to say what is wrong."""
        if self._credit <= 0:
            return None
        _budget.chars = MAX_CHARS
        _budget.deadline = time.monotonic() + SECONDS
        _budget.processor = time.thread_time() + SECONDS
        try:
            text = render_compiled(self._template, dict(variables), MAX_CHARS)
        except OverBudget:
            self._credit -= 4
            return None
        except Exception:
            return None
        self._credit = min(self._credit + 1, 64)
        return text


@lru_cache(maxsize=16)
def budgeted(template: str) -> BudgetedTemplate | None:
    """Return a template for rendering in this process; None if its cost is not known.

    A separate process must have parsed the template within its limits before.
    """
    if len(template) > MAX_TEMPLATE_CHARS:
        return None
    try:
        tree = _ENVIRONMENT.parse(template)
        return BudgetedTemplate(tree) if _is_known(tree) else None
    except Exception:
        return None


def _is_known(tree: nodes.Template) -> bool:
    parts = list(tree.find_all(nodes.Node))
    macros = {node.name for node in parts if isinstance(node, nodes.Macro)}
    return len(parts) <= MAX_NODES and all(_is_known_node(node, macros) for node in parts)


def _is_known_node(node: nodes.Node, macros: Collection[str]) -> bool:
    match node:
        case nodes.For():
            return not node.recursive and node.test is None
        case nodes.Filter():
            keywords = {each.key for each in node.kwargs} if node.name == "tojson" else set()
            return (
                node.node is not None
                and node.name in _FILTERS
                and node.dyn_args is node.dyn_kwargs is None
                and len(node.args) <= _NUM_ARGUMENTS.get(node.name, 0)
                and len(keywords) == len(node.kwargs)
                and keywords <= {"indent", "ensure_ascii"}
            )
        case nodes.Test():
            return node.name in _TESTS and node.dyn_args is node.dyn_kwargs is None
        case nodes.Call():
            called = node.node
            is_known = isinstance(called, nodes.Name) and called.name in {*_NAMES, *macros}
            is_method = isinstance(called, nodes.Getattr) and any(
                called.attr in names for names in _METHODS.values()
            )
            return (is_known or is_method) and node.dyn_args is node.dyn_kwargs is None
        case nodes.List() | nodes.Dict() | nodes.Tuple():
            is_target = isinstance(node, nodes.Tuple) and node.ctx == "store"
            known = (nodes.Const, nodes.Pair)
            return is_target or all(isinstance(each, known) for each in node.find_all(nodes.Node))
        case _:
            return type(node) in _NODES
