"""Chat templates in their own processes: the text is transformers', and the limits hold."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sizes import large, size
from tests.text import published_shapes
from yaie.base.errors import InvalidRequest, TemplateTooCostly
from yaie.text.chat_template import ChatTemplate
from yaie.text.template_renderer import (
    MAX_TEMPLATE_CHARS,
    PromptTooLong,
    TemplateFault,
    TemplateRenderer,
)
from yaie.text.text_threads import in_turn
from yaie.text.tokenizer import Tokenizer

ROOT = Path(__file__).resolve().parents[2]
HELLO = {"messages": [{"role": "user", "content": "hello"}]}
ECHO = "{{ messages[0].content }}"
LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
ESCAPES = {
    "class": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "globals": "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "function": "{{ raise_exception.__globals__ }}",
    "filter": "{{ ''|attr('__class__')|attr('__base__') }}",
    "format": "{{ '{0.__class__.__init__}'.format(messages) }}",
    "format_map": "{{ '{a.__class__.__init__}'.format_map({'a': 1}) }}",
    "code": "{{ namespace.__init__.__code__ }}",
    "cycler": "{{ cycler.__init__.__globals__ }}",
    "changes": "{{ messages.append({}) }}",
    "private": "{% set ns = namespace(__class__=1) %}{{ ns.x }}",
    "generator": "{{ (messages|map('upper')).gi_frame.f_builtins }}",
}
BOMBS = {
    "loops": (LOOP, "0.3 s of processor time"),
    "power": ("{{ (10**9)**(10**9) }}", "0.3 s of processor time"),
    "power of a variable": ("{% set x = 10**9 %}{{ x**x }}", "0.3 s of processor time"),
    "words": ("{{ lipsum(n=10**7) }}", "0.3 s of processor time"),
    "product": ("{{ 'x' * 10**10 }}", "64 MiB of memory"),
    "doubling": (
        "{% set n = namespace(x='a') %}{% for a in range(99) %}{% set n.x = n.x*2 %}{% endfor %}",
        "64 MiB of memory",
    ),
    "format": ("{{ '%99999999999d' % 1 }}", "64 MiB of memory"),
    "method": ("{{ 'x'.center(10**10) }}", "64 MiB of memory"),
    "replace": ("{{ ('a' * 9999).replace('a', 'b' * 99999) }}", "64 MiB of memory"),
    "join": ("{{ (['a' * 99999] * 99999)|join }}", "64 MiB of memory"),
    "json": ("{{ [1]|tojson(indent=10**10) }}", "64 MiB of memory"),
    "list": ("{{ [1] * 10**9 }}", "64 MiB of memory"),
}


@pytest.fixture(scope="module")
def renderer() -> Iterator[TemplateRenderer]:
    made = TemplateRenderer(0.3, has_budget=False)
    yield made
    made.close()


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_by_its_limit_and_the_next_job_is_done(
    renderer: TemplateRenderer, name: str
) -> None:
    template, limit = BOMBS[name]
    with pytest.raises(TemplateTooCostly, match=limit) as refused:
        renderer.render(template, HELLO, 1000)
    assert (refused.value.code, refused.value.status) == ("chat_template_limit", 400)
    assert "\n" not in refused.value.message
    assert renderer.render(ECHO, HELLO, 1000) == "hello"


def test_a_prompt_has_a_most_number_of_characters(renderer: TemplateRenderer) -> None:
    template = "{% for a in range(99999) %}{{ 'x' * 100 }}{% endfor %}"
    with pytest.raises(PromptTooLong, match="more than 1000 characters"):
        renderer.render(template, HELLO, 1000)
    assert len(renderer.render("{{ 'x' * 1000 }}", HELLO, 1000)) == 1000


def test_a_template_is_read_up_to_its_limit(renderer: TemplateRenderer) -> None:
    assert renderer.render("x" * MAX_TEMPLATE_CHARS, HELLO, 2**21) == "x" * MAX_TEMPLATE_CHARS
    with pytest.raises(TemplateTooCostly, match="the chat template has 1048577 characters"):
        renderer.render("x" * (MAX_TEMPLATE_CHARS + 1), HELLO, 2**21)


def test_the_analysis_of_a_template_has_the_same_limits(renderer: TemplateRenderer) -> None:
    with pytest.raises(TemplateTooCostly, match=r"0\.3 s"):  # constants are computed
        renderer.find_parts(BOMBS["power"][0])
    for template in (LOOP, BOMBS["product"][0]):  # nothing runs, and memory is given back
        assert renderer.find_parts(template + "{{ x }}").variables == {"x"}
    for broken in ("{% for %}", "{{ " + "(" * 50_000, "{{ " + "9" * 5000):
        assert renderer.find_parts(broken).variables == frozenset()


def test_a_job_may_take_memory_by_the_length_of_its_input(renderer: TemplateRenderer) -> None:
    content = "🙂" + "x" * 8_000_000
    messages = {"messages": [{"role": "user", "content": content}]}
    assert TemplateRenderer(has_budget=False).render(ECHO, messages, 2**24) == content


@pytest.mark.parametrize("name", ESCAPES)
def test_the_sandbox_holds(renderer: TemplateRenderer, name: str) -> None:
    try:
        text = renderer.render(ESCAPES[name], HELLO, 1000)
    except TemplateFault as fault:
        assert fault.error in ("SecurityError", "UndefinedError", "TypeError")
    else:
        assert text in ("", "<generator object sync_do_map at 0x0>")


@pytest.mark.parametrize(
    ("template", "kind", "message"),
    [
        ("{% for %}", "syntax", "Expected an expression"),
        ("{{ raise_exception('no\n tools') }}", "refused", "no tools"),
        ("{{ 1 / 0 }}", "failed", "division by zero"),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "failed", "recursion"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "failed", "recursion"),
        ("{{ raise_exception('x' * 99999) }}", "refused", "x" * 300),
    ],
)
def test_a_fault_tells_its_kind(
    renderer: TemplateRenderer, template: str, kind: str, message: str
) -> None:
    with pytest.raises(TemplateFault) as caught:
        renderer.render(template, HELLO, 1000)
    assert caught.value.kind == kind
    assert message in caught.value.message
    assert len(caught.value.message) <= 300


def test_one_bomb_leaves_the_others_their_time(renderer: TemplateRenderer) -> None:
    slow = TemplateRenderer(has_budget=False)
    slow.render(ECHO, HELLO, 99)
    refused = threading.Event()

    def explode() -> None:
        with pytest.raises(TemplateTooCostly):
            slow.render(LOOP, HELLO, 99)
        refused.set()

    thread = threading.Thread(target=explode)
    thread.start()
    done = 0
    while not refused.is_set():
        assert slow.render(ECHO, HELLO, 99) == "hello"
        done += 1
    thread.join()
    slow.close()
    assert done > 10


def test_a_long_job_gives_up_its_turn(renderer: TemplateRenderer) -> None:
    turns = threading.Semaphore(1)
    begun = threading.Event()

    def explode() -> None:
        with in_turn(turns), pytest.raises(TemplateTooCostly):
            begun.set()
            renderer.render(LOOP, HELLO, 99)

    thread = threading.Thread(target=explode)
    thread.start()
    begun.wait()
    with in_turn(turns):
        assert thread.is_alive()
    thread.join()
    with in_turn(turns):
        assert not turns.acquire(blocking=False)


@pytest.mark.timeout(120)
def test_many_long_jobs_in_few_turns_all_end() -> None:
    """Threads that wait for a process hold no turn, threads that wait for a turn no process."""
    renderer, turns = TemplateRenderer(has_budget=False), threading.Semaphore(2)
    longer = "{% for a in range(300) %}{% for b in range(3000) %}{% endfor %}{% endfor %}"

    def render(number: int) -> str:
        with in_turn(turns):
            return renderer.render(longer + ECHO, HELLO, 99)

    with ThreadPoolExecutor(24) as threads:
        assert set(threads.map(render, range(24))) == {"hello"}
    renderer.close()


@contextlib.contextmanager
def _many_open_files(number: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] != resource.RLIM_INFINITY and before[1] < number + 100:
        pytest.skip(f"the system allows {before[1]} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], number + 100), before[1]))
    with contextlib.ExitStack() as files:
        files.callback(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        while files.enter_context(Path(os.devnull).open("rb")).fileno() < number:
            pass
        yield


def test_a_process_that_starts_beside_many_connections_renders() -> None:
    renderer = TemplateRenderer(has_budget=False)
    with _many_open_files(1100), in_turn(threading.Semaphore(1)):
        assert renderer.render(ECHO, HELLO, 99) == "hello"
    renderer.close()


def test_a_process_that_the_system_ends_is_replaced() -> None:
    renderer = TemplateRenderer(has_budget=False)
    renderer.start()
    for _ in range(3):
        (pid,) = renderer.pids
        os.kill(pid, signal.SIGKILL)
        assert renderer.render(ECHO, HELLO, 99) == "hello"
    renderer.close()
    assert renderer.pids == []


def test_the_process_has_no_secret_and_writes_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("YAIE_API_KEY", "sentinel")
    monkeypatch.setenv("HF_TOKEN", "sentinel")
    renderer = TemplateRenderer(has_budget=False)
    renderer.render(ECHO, HELLO, 99)
    (pid,) = renderer.pids
    environment = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"PATH=" in environment and b"sentinel" not in environment
    limits = Path(f"/proc/{pid}/limits").read_text()
    assert "Max file size             0" in limits
    modules = Path(f"/proc/{pid}/maps").read_text()
    assert "torch" not in modules and "numpy" not in modules
    renderer.close()


@pytest.mark.integration
@pytest.mark.parametrize("template", [ECHO, LOOP])
def test_the_process_ends_with_its_parent(template: str) -> None:
    """It is idle, or in the middle of a job that may take a minute."""
    program = (
        "import threading, time, sys\n"
        "from yaie.text.template_renderer import TemplateRenderer\n"
        "renderer = TemplateRenderer(60, has_budget=False)\n"
        "renderer.start()\n"
        "print(*renderer.pids, flush=True)\n"
        f"renderer.render({template!r}, {HELLO!r}, 99)\n"
        "print('done', flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    if template == ECHO:
        parent.stdout.readline()
    else:
        while _processor_ticks(pid) < 40:
            time.sleep(0.05)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 30
    while _is_alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _processor_ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().split()[13])


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] not in "ZX"
    except OSError:
        return False


def test_a_forked_child_has_processes_of_its_own() -> None:
    renderer = TemplateRenderer(has_budget=False)
    assert renderer.render(ECHO, HELLO, 99) == "hello"
    pid = os.fork()
    if pid == 0:
        is_right = renderer.pids == [] and renderer.render(ECHO, HELLO, 99) == "hello"
        renderer.close()
        os._exit(0 if is_right else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert renderer.render(ECHO, HELLO, 99) == "hello"
    renderer.close()


def test_values_of_libraries_become_plain_ones(renderer: TemplateRenderer) -> None:
    import numpy as np

    class Model:
        def model_dump(self) -> dict[str, Any]:
            return {"a": 1}

    class Other:
        pass

    values = [MappingProxyType({"b": 2}), Model(), np.float64(0.5), (1, 2), Other(), 10**30]
    text = renderer.render("{{ values }}", {**HELLO, "values": values}, 999)
    assert text == "[{'b': 2}, {'a': 1}, 0.5, [1, 2], '<Other>', 1000000000000000000000000000000]"
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(InvalidRequest, match="cannot be written as JSON"):
        renderer.render("{{ values }}", {**HELLO, "values": nested}, 999)


def test_a_lone_surrogate_arrives(renderer: TemplateRenderer) -> None:
    messages = [{"role": "user", "content": "a\ud800b"}]
    assert renderer.render(ECHO, {"messages": messages}, 99) == "a\ud800b"


# The same text as transformers'.

TEMPLATES = (
    {
        name: text
        for name, text in vars(published_shapes).items()
        if name.isupper() and isinstance(text, str) and "{%" in text
    }
    | {
        path.name: path.read_text()
        for path in (
            *ROOT.glob("benchmarks/growing_chats/templates/*.jinja"),
            *ROOT.glob("tests/agents/templates/*.jinja"),
            ROOT / "yaie/models/builtin/chat_template.jinja",
        )
    }
    | {
        "everything": (
            "{% generation %}{% set x = 1 %}{{ messages[0].content }}{% endgeneration %}{{ x }}\n"
            "{%- for m in messages %}{% if loop.index > 2 %}{% break %}{% endif %}\n"
            "  {{ m | tojson(indent=2) }} {{ m.items() | list }} {{ m.thinking }}{% endfor %}\n"
            "{{ strftime_now('%Y') }}{{ dict(a=1) }}{% set n = namespace(a=1) %}{% set n.a = 2 %}"
            "{{ n.a }}{{ tools | tojson }}{{ documents }}{{ eos_token }}{{ missing is defined }}"
        )
    }
)
WORDS = st.text(st.characters(codec="utf-8"), max_size=12)
CALL = st.fixed_dictionaries(
    {
        "id": st.just("abcdefghi"),
        "type": st.just("function"),
        "function": st.fixed_dictionaries(
            {
                "name": st.just("look"),
                "arguments": st.dictionaries(WORDS, st.integers() | WORDS, max_size=2),
            }
        ),
    }
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool"]), "content": WORDS},
    optional={"reasoning_content": WORDS, "tool_calls": st.lists(CALL, min_size=1, max_size=2)},
)
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]


def _as_transformers(tokenizer: Tokenizer, template: str, **options: Any) -> str | None:
    try:
        return str(
            tokenizer.hf.apply_chat_template(chat_template=template, tokenize=False, **options)
        )
    except Exception:
        return None


CHAT = st.fixed_dictionaries(
    {
        "messages": st.lists(MESSAGE, min_size=1, max_size=5),
        "tools": st.sampled_from([None, TOOLS]),
        "add_generation_prompt": st.booleans(),
    }
)


@large
@given(chat=CHAT, name=st.sampled_from(sorted(TEMPLATES)))
@settings(max_examples=size(1000), deadline=None)
def test_the_text_is_the_one_of_transformers(
    renderer: TemplateRenderer, byte_level: Tokenizer, chat: dict[str, Any], name: str
) -> None:
    others = {each: value for each, value in chat.items() if each != "messages"}
    wanted = _as_transformers(byte_level, TEMPLATES[name], conversation=chat["messages"], **others)
    variables = {**byte_level.hf.special_tokens_map, "documents": None, **chat}
    try:
        text = renderer.render(TEMPLATES[name], variables, 10**6)
    except TemplateFault:
        assert wanted is None
    else:
        assert text == wanted


@given(content=WORDS, name=st.sampled_from(sorted(TEMPLATES.keys() - {"everything"})))
@settings(max_examples=size(300), deadline=None)
def test_a_continued_message_ends_the_prompt_as_with_transformers(
    byte_level: Tokenizer, content: str, name: str
) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": content}]
    wanted = _as_transformers(
        byte_level, TEMPLATES[name], conversation=messages, continue_final_message=True
    )
    tokenizer = Tokenizer(byte_level.hf, byte_level.path)
    own = tokenizer.hf.chat_template
    try:
        tokenizer.hf.chat_template = TEMPLATES[name]
        text: str | None = ChatTemplate(tokenizer, trust_markers=True).render_text(
            messages, continue_final_message=True, add_generation_prompt=False
        )
    except InvalidRequest:
        text = None
    finally:
        tokenizer.hf.chat_template = own
    if text is None or wanted is None:
        assert not content.strip() or text is wanted is None
    elif content.strip():  # transformers finds a blank message anywhere
        blanks = content[len(content.rstrip()) :]
        assert text == (wanted if wanted.endswith(blanks) else wanted + blanks)
