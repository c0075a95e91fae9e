"""The truth of the documents: their links, paths, commands, flags, settings and names exist."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from pathlib import Path

import pytest
import typer.main

from yaie.base.setting_field import CLIENT_VARIABLES, LIBRARY_VARIABLES
from yaie.base.settings import SETTINGS
from yaie.cli.main import COMMANDS, app
from yaie.models.builtin import BUILTIN_MODEL_DIR

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
TEXTS = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}

_LINK = re.compile(r"\]\(([^)#\s]+)?(#[^)\s]*)?\)")
_CODE = re.compile(r"```[^\n]*\n(.*?)```|`([^`\n]+)`", re.DOTALL)
_PATH = re.compile(r"(?<![\w/.-])(?:yaie|server|tests|docs|benchmarks|training)/[\w./-]+")
_VARIABLE = re.compile(r"\bYAIE_[A-Z][A-Z_]*\b")


def code_of(text: str) -> list[str]:
    """Return the code blocks and code words of a page."""
    return [block or word for block, word in _CODE.findall(text)]


def commands_of(text: str, program: str) -> list[str]:
    """Return the command lines of a program in a page's code."""
    lines = [line.strip() for code in code_of(text) for line in code.splitlines()]
    parts = [part.strip() for line in lines for part in line.partition("  #")[0].split("|")]
    return [part for part in parts if part.split(" ")[0] == program]


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_somewhere(page: str) -> None:
    for target, anchor in _LINK.findall(TEXTS[page]):
        if target.startswith(("http://", "https://")):
            continue
        path = (ROOT / page).parent / target if target else ROOT / page
        assert path.exists(), f"{page} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in headings}
            assert anchor[1:] in slugs, f"{page} links to {target}{anchor}"


@pytest.mark.parametrize("page", TEXTS)
def test_paths_exist(page: str) -> None:
    for code in code_of(TEXTS[page]):
        for path in _PATH.findall(code):
            assert (ROOT / path.rstrip(".")).exists(), f"{page} names {path}"


@pytest.mark.parametrize("page", TEXTS)
def test_variables_are_settings(page: str) -> None:
    known = {each.variable for each in SETTINGS.values()}
    known |= CLIENT_VARIABLES | LIBRARY_VARIABLES
    found = set(_VARIABLE.findall(TEXTS[page]))
    assert found <= known, f"{page} names {sorted(found - known)}"


@pytest.mark.parametrize("page", TEXTS)
def test_make_targets_exist(page: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    for command in commands_of(TEXTS[page], "make"):
        named = {word for word in command.split()[1:] if re.fullmatch(r"[a-z-]+", word)}
        assert named <= targets, f"{page} says {command}"


@pytest.mark.parametrize("page", TEXTS)
def test_yaie_commands_and_their_flags_exist(page: str) -> None:
    root = typer.main.get_command(app)
    for line in commands_of(TEXTS[page], "yaie"):
        words = shlex.split(line.partition(">")[0])[1:]
        if not words:
            continue
        command = getattr(root, "commands", {}).get(words[0] if words[0] in COMMANDS else "run")
        if command is None and words[0].startswith("-"):
            continue
        for word in words:
            command = getattr(command, "commands", {}).get(word, command)
        known = {
            name for option in command.params for name in (*option.opts, *option.secondary_opts)
        }
        known |= {"--help", "-h", "--debug", "--quiet", "-q", "--version"}
        flags = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert flags <= known, f"{page} says {line}"


def test_the_table_of_settings_is_the_settings() -> None:
    page = TEXTS["docs/reference/settings.md"]
    rows = re.findall(r"^\| `(YAIE_\w+)` \| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE)
    settings = {each.variable: each for each in SETTINGS.values()}
    named = [variable for variable, _, _ in rows]
    assert sorted(named) == sorted([*settings, *CLIENT_VARIABLES, *LIBRARY_VARIABLES])
    for variable, default, meaning in rows:
        if variable not in settings:
            continue
        each = settings[variable]
        if each.default in (None, ""):
            assert default.strip() == (each.about.unset or "none"), variable
        else:
            shown = str(each.default).lower() if each.kind is bool else str(each.default)
            assert default.strip() == f"`{shown}`", variable
        plain = meaning.replace("`", "").replace("'", "")
        assert plain.startswith(each.about.meaning.replace("'", "")), variable
        assert all(f"`{choice}`" in meaning for choice in each.choices), variable


@pytest.mark.parametrize("page", TEXTS)
def test_python_in_the_documents_compiles_and_imports(page: str) -> None:
    for block in re.findall(r"```python\n(.*?)```", TEXTS[page], re.DOTALL):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("yaie"):
                module = importlib.import_module(node.module or "")
                for name in node.names:
                    assert hasattr(module, name.name), f"{page} imports {name.name}"


@pytest.mark.skipif(
    not (BUILTIN_MODEL_DIR / "model.safetensors").is_file(), reason="the model is not packaged"
)
def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", TEXTS["README.md"], re.DOTALL)
    exec(compile(block, "README.md", "exec"), {})
    text, cached = capsys.readouterr().out.rsplit(maxsplit=1)
    assert text.strip()
    assert cached == "0"


def test_the_exit_codes_are_those_of_the_code() -> None:
    from yaie.base import errors
    from yaie.cli import failures

    stated = {
        int(n)
        for n in re.findall(r"^\| (\d+) \|", TEXTS["docs/reference/exit-codes.md"], re.MULTILINE)
    }
    raised = {
        e.exit_code
        for e in vars(errors).values()
        if isinstance(e, type) and issubclass(e, errors.YaieError)
    }
    own = {failures.FAILED, failures.USAGE, failures.SERVER_UNREACHABLE}
    own |= {failures.TIMED_OUT, failures.INTERRUPTED, 0}
    assert stated == raised | own


def test_the_readme_is_short() -> None:
    assert len(TEXTS["README.md"].splitlines()) <= 150


def test_every_page_is_reached_from_the_index() -> None:
    seen, open_pages = set(), ["docs/index.md"]
    while open_pages:
        page = open_pages.pop()
        seen.add(page)
        for target, _ in _LINK.findall(TEXTS[page]):
            path = (ROOT / page).parent / target if target else ROOT / page
            name = str(path.resolve().relative_to(ROOT)) if path.exists() else ""
            if name in TEXTS and name not in seen:
                open_pages.append(name)
    assert {page for page in TEXTS if page.startswith("docs/")} <= seen


def test_every_decision_has_a_number_a_status_and_a_place_in_the_list() -> None:
    listed = TEXTS["docs/decisions/README.md"]
    for page, text in TEXTS.items():
        if re.match(r"docs/decisions/\d", page):
            number = int(Path(page).name[:4])
            title, _, status, *_ = text.splitlines()
            assert title.startswith(f"# {number}. "), page
            assert re.match(r"Status: (accepted|superseded by)", status), page
            assert f"| [{number}]({Path(page).name}) |" in listed, page


def test_the_site_has_every_page_of_the_guides_and_the_reference() -> None:
    named = set(re.findall(r"[\w/.-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    folders = ("docs/guides/", "docs/reference/", "docs/internals/")
    pages = {page.removeprefix("docs/") for page in TEXTS if page.startswith(folders)}
    assert pages <= named
    assert all((ROOT / "docs" / name).is_file() for name in named)
