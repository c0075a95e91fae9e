"""Chromium as a test drives it: without any host but this machine's address."""

from __future__ import annotations

import base64
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WAIT_S = 60.0
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    # Nothing can be fetched from another host: no name resolves.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


class Browser:
    """One tab."""

    def __init__(self) -> None:
        webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
        from selenium.webdriver.chrome.service import Service

        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        driver = shutil.which("chromedriver")
        if chromium is None or driver is None:
            pytest.skip("chromium or chromedriver is not installed (apt: chromium chromium-driver)")
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in FLAGS:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options, Service(driver))
        self.driver.set_script_timeout(WAIT_S)

    def resize(self, width: int, height: int = 900) -> None:
        """Show the page on a screen of this size."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )

    def open(self, url: str, theme: str = "dark") -> None:
        """Open a page with neither keys nor choices of an earlier one."""
        self.driver.get(url)
        self.run("localStorage.clear(); sessionStorage.clear()")
        self.run("localStorage.setItem('yaie-theme', arguments[0])", theme)
        self.driver.get(url)

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script in the page; return what it returns."""
        return self.driver.execute_script(script, *arguments)

    def text(self, selector: str) -> str:
        """Return the text of an element."""
        found = self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)
        return str(found)

    def click(self, selector: str) -> None:
        """Click an element by script: it may be below the fold."""
        self.run("document.querySelector(arguments[0]).click()", selector)

    def type(self, selector: str, text: str) -> None:
        """Set the value of a field as a person does."""
        self.run(
            "const field = document.querySelector(arguments[0]); field.value = arguments[1];"
            "for (const kind of ['input', 'change'])"
            "  field.dispatchEvent(new Event(kind, {bubbles: true}))",
            selector,
            text,
        )

    def until(self, is_so: Callable[[], Any], what: str) -> Any:
        """Return the first true answer of `is_so`."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            if found := is_so():
                return found
            time.sleep(0.05)
        raise AssertionError(f"not within {WAIT_S} s: {what}\n{self.text('body')[:2000]}")

    def boxes(self) -> list[dict[str, Any]]:
        """Return the boxes of the tree, in order: level, text, width and class."""
        found: list[dict[str, Any]] = self.run(
            "return [...document.querySelectorAll('#ice [role=treeitem]')].map(box => ({"
            "level: Number(box.ariaLevel), text: box.ariaLabel || box.textContent,"
            "width: box.offsetWidth, kind: box.className}))"
        )
        return found

    def chat(self, text: str, *, variants: bool = False) -> None:
        """Send a message of the playground and wait for the answer."""
        before = self.run("return document.querySelector('#log').dataset.answers")
        self.type("#say", text)
        self.click("#eight" if variants else "#send")
        self.until(
            lambda: self.run("return document.querySelector('#log').dataset.answers") != before,
            "the answer has ended",
        )

    def errors(self) -> list[str]:
        """Return the messages of the console that name a fault of the page or a blocked file."""
        logged: list[dict[str, str]] = self.driver.get_log("browser")
        return [each["message"] for each in logged if each["level"] == "SEVERE"]

    def foreign_files(self, url: str) -> list[str]:
        """Return the addresses of files that came from another server than `url`."""
        names: list[str] = self.run(
            "return performance.getEntriesByType('resource').map(each => each.name)"
        )
        return [name for name in names if not name.startswith(url)]

    def picture(self, path: Path, most_height: int = 2600) -> None:
        """Save a picture of the whole page."""
        size = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], most_height), "scale": 1}
        shot = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        """Close the browser."""
        self.driver.quit()
