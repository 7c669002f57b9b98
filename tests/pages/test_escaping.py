"""What a page draws as Markdown holds values as numbers or escaped: by the syntax trees, and tried with links."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fairpriv_core.store.runs import open_store
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import DEFAULTS
from tests.pages.shown import PAGES as NAMES
from tests.pages.shown import ROOT, Open
from tests.syntax import Function, Source, read_sources

PAGES = {source.module: source for source in read_sources(ROOT, "pages", "app.py")}
#: whose first argument Streamlit reads as Markdown, and which named arguments of any element
DRAWS = frozenset(
    {"badge", "button", "caption", "checkbox", "download_button", "error", "expander", "file_uploader", "header"}
    | {"info", "link_button", "markdown", "metric", "multiselect", "number_input", "pills", "popover", "radio"}
    | {"segmented_control", "select_slider", "selectbox", "slider", "status", "subheader", "success", "text_area"}
    | {"text_input", "title", "toast", "toggle", "warning", "write"}
)
NAMED = frozenset({"label", "help", "text", "body", "delta"})
#: what escapes, what returns a number or a number's text, and what the core has words of its own for
SAFE = frozenset(
    {"plain", "quote", "len", "sum", "min", "max", "round", "count_text", "epsilon_text", "short_epsilon_text"}
    | {"at_least_text", "delta_text", "odds", "odds_shown"}
)
OWN_WORDS = frozenset({"format_undefined", "metric_title", "duration_text"})
NUMERIC = re.compile(r"[ +]?0?\d*,?(\.\d+)?[defgn%,]")
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")


@dataclass
class Reader:
    """Finds the holes of drawn f-strings that may hold a text which somebody wrote."""

    source: Source
    faults: list[str] = field(default_factory=list)

    def read(self) -> list[str]:
        """Return one line for each such hole in the file."""
        for scope in [*self.source.functions, self.source.tree]:
            for call in own_nodes(scope):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in DRAWS:
                    drawn = [*call.args[:1], *(item.value for item in call.keywords if item.arg in NAMED)]
                    for part in drawn:
                        self._draw(part, scope, ())
        return list(dict.fromkeys(self.faults))

    def _draw(self, node: ast.AST | None, scope: ast.AST, seen: Sequence[object]) -> None:
        """Follow a drawn expression to its f-strings; names that come from elsewhere are whole texts of other files."""
        if isinstance(node, ast.JoinedStr):
            self.faults += [
                f"{self.source.path}:{node.lineno} draws {{{ast.unparse(hole.value)}}} unescaped"
                for hole in node.values
                if isinstance(hole, ast.FormattedValue) and not self.is_safe(hole, scope, ())
            ]
            return
        for part, where in self._follow(node, scope):
            if (part, where) not in seen:
                self._draw(part, where, (*seen, (part, where)))

    def _follow(self, node: ast.AST | None, scope: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Yield what `node` is made of: branches, a name's values here, what a function of this file returns."""
        match node:
            case ast.IfExp(body=first, orelse=second):
                yield from ((first, scope), (second, scope))
            case ast.BinOp(left=first, right=second):
                yield from ((first, scope), (second, scope))
            case ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
                yield from ((part, scope) for part in parts)
            case ast.GeneratorExp(elt=part) | ast.ListComp(elt=part) | ast.Starred(value=part):
                yield part, scope
            case ast.Name(id=name):
                yield from ((value, scope) for value in values_of(name, scope))
            case ast.Call(func=ast.Attribute(attr="join"), args=[part]):
                yield part, scope
            case ast.Call(func=ast.Name(id=name)) if name not in SAFE:
                yield from returned_by(name, self.source)

    def is_safe(self, node: ast.AST, scope: ast.AST, seen: Sequence[object]) -> bool:
        """Return whether an expression can only be a number, words of the code, or escaped."""
        match node:
            case ast.FormattedValue(value=value, format_spec=ast.JoinedStr(values=[ast.Constant(value=spec)])):
                return bool(NUMERIC.fullmatch(str(spec))) or self.is_safe(value, scope, seen)
            case ast.FormattedValue(value=value):
                return self.is_safe(value, scope, seen)
            case ast.Constant() | ast.List(elts=[]) | ast.Tuple(elts=[]):
                return True
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in SAFE | OWN_WORDS:
                return True
            case ast.Subscript(value=ast.Name(id=name)) if CONSTANT.fullmatch(name):
                return True
            case ast.Name(id=name) | ast.Attribute(attr=name) if CONSTANT.fullmatch(name):
                return True
            case ast.Name(id=name) if is_number(name, scope):
                return True
            case ast.JoinedStr(values=holes):
                return all(self.is_safe(hole, scope, seen) for hole in holes)
            case ast.BinOp(op=ast.Sub() | ast.Mult() | ast.Div() | ast.FloorDiv()):
                return True
            case ast.BinOp(op=ast.Add(), right=ast.Constant(value=int())):
                return True
        parts = list(self._follow(node, scope))
        key = (ast.dump(node), id(scope))
        if key in seen or not parts:
            return key in seen
        return all(self.is_safe(part, where, (*seen, key)) for part, where in parts)


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function or file, those of functions inside it left out."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, Function | ast.ClassDef):
            yield child
            yield from own_nodes(child)


def values_of(name: str, scope: ast.AST) -> list[ast.AST]:
    """Return what a name is set to in `scope`; nothing where one value cannot be seen."""
    found: list[ast.AST] = []
    for node in own_nodes(scope):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=known), attr="append"), args=[part]) if known == name:
                found.append(part)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None) or getattr(node, "iter", None)
        for target in targets:
            if isinstance(target, ast.Name) and target.id == name and value is not None:
                found.append(value)
            elif isinstance(target, ast.Tuple):
                places = [place for place, each in enumerate(target.elts) if getattr(each, "id", "") == name]
                found += [part for place in places for part in parts_of(value, place)]
    return found


def parts_of(value: ast.AST | None, place: int) -> list[ast.AST]:
    """Return what the name at `place` of several gets: its own part where each is seen, else the whole."""
    rows = value.elts if isinstance(value, ast.Tuple) else []
    each = [row.elts[place] for row in rows if isinstance(row, ast.Tuple)]
    return list(each) if each else [rows[place]] if rows else [value] if value is not None else []


def returned_by(name: str, source: Source) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield (expression, function) for what a function of this file, or of a page that it imports from, returns."""
    homes = [source, *(PAGES[item.module] for item in source.imports if item.module in PAGES and name in item.names)]
    for home in homes:
        for function in home.functions:
            if function.name == name:
                returns = [node for node in own_nodes(function) if isinstance(node, ast.Return) and node.value]
                yield from ((node.value, function) for node in returns if node.value is not None)


def is_number(name: str, scope: ast.AST) -> bool:
    """Return whether a name is an argument that is declared as a number."""
    arguments = scope.args if isinstance(scope, Function) else None
    known = [] if arguments is None else [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return any(each.arg == name and ast.unparse(each.annotation or each) in ("int", "float") for each in known)


def test_no_value_is_drawn_unescaped() -> None:
    faults = [fault for source in PAGES.values() for fault in Reader(source).read()]
    assert not faults, "\n".join(["put the value through `plain`:", *faults])


def test_every_table_says_what_it_shows() -> None:
    for source in PAGES.values():
        calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
        tables = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "dataframe"]
        silent = [call.lineno for call in tables if "alt" not in {keyword.arg for keyword in call.keywords}]
        assert silent == [], source.path


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("st.caption(f'run {wanted}')", True),
        ("st.button('x', help=f'run {wanted}')", True),
        ("st.caption(f'run {plain(wanted)} of {len(x):,}, {share:.2%}')", False),
        ("said = f'run {wanted}' if wanted else ''\n    st.caption(said)", True),
        ("st.caption('\\n'.join(f'- {item}' for item in wanted))", True),
        ("st.markdown(tell(wanted))", True),
        ("st.markdown('run ' + f'{wanted}')", True),
        ("st.markdown(f'{3 if wanted else LIMIT}')", False),
        ("count = len(wanted)\n    st.markdown(f'{count} runs')", False),
        ("st.text(f'{wanted}')", False),
    ],
)
def test_an_unescaped_value_is_found(text: str, fault: bool) -> None:
    code = f"def tell(one):\n    return f'run {{one}}'\n\ndef show(wanted, share):\n    {text}\n"
    assert bool(Reader(Source("pages/a.py", code)).read()) is fault


EVIL = "[x](http://b.example) ![y](http://b.example/z.png) <b>z</b>"
LIVE = re.compile(r"(?<!\\)(\]\(http|<b>)")
KINDS = ("markdown", "caption", "error", "warning", "info", "success", "header", "subheader", "title")


@pytest.mark.parametrize("name", NAMES)
def test_an_address_is_never_drawn_as_markup(name: str, with_runs: Path, open_page: Open) -> None:
    """Nor is what a person calls a run."""
    assert LIVE.search(EVIL) and not LIVE.search(plain(EVIL))
    with open_store(str(with_runs)) as store:
        keys = [row.key for row in store.rows()]
        for key in keys:
            store.label(key, name=EVIL, tags=[EVIL[:25]], note=EVIL)
    wanted: dict[str, str | list[str]] = {each.replace(".", "__"): EVIL for each in DEFAULTS}
    wanted |= {"p__epochs": EVIL, "p__nothing": EVIL}
    known = {"data": "synthetic:group", "run": keys[0], "runs": keys, "cloned": keys[0], "points": keys}
    for kept in (
        {},
        known,
        {"data": "synthetic:group", "source": "file"} if name == "data" else {"data": known["data"]},
    ):
        page = open_page(name, **{**wanted, **kept})
        drawn = [str(item.value) for kind in KINDS for item in getattr(page, kind)]
        drawn += [
            str(getattr(item, part, "")) for item in (*page.button, *page.selectbox) for part in ("label", "help")
        ]
        assert not page.exception and drawn
        assert not [text for text in drawn if LIVE.search(text)]
        assert name != "audit" or kept or any("b.example" in text for text in drawn)
