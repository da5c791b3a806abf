"""Drives a headless Chromium over its debugging pipe, for tests of pages: keys, clicks, touches, pictures.

No driver and no client library are needed: the browser reads commands from file descriptor 3 and answers on
4, JSON ended by a zero byte. Tests enter `open_browser`, which skips them where no browser is installed.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 30.0
"""Seconds to wait for the browser or for something on a page before a test fails."""
PHONE, DESKTOP = (390, 844, True), (1280, 800, False)

_KEYS = {
    "Enter": 13, "Escape": 27, " ": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36, "Tab": 9,
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip


class Browser:
    """One browser process; `new_page` opens a page, by default with cookies of its own."""

    def __init__(self, program: str, profile: str) -> None:
        to_browser, from_browser = os.pipe(), os.pipe()
        reads = fcntl.fcntl(to_browser[0], fcntl.F_DUPFD, 20)
        writes = fcntl.fcntl(from_browser[1], fcntl.F_DUPFD, 20)

        def connect() -> None:
            os.dup2(reads, 3)
            os.dup2(writes, 4)

        self._process = subprocess.Popen(
            [
                program,
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--no-first-run",
                "--disable-extensions",
                "--disable-background-networking",
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(3, 4),
            preexec_fn=connect,  # nothing else runs in threads yet
        )
        for descriptor in (to_browser[0], from_browser[1], reads, writes):
            os.close(descriptor)
        self._write, self._read = to_browser[1], from_browser[0]
        self._buffer = b""
        self._number = 0
        self._pages: dict[str, Page] = {}

    def call(self, method: str, parameters: dict[str, Any] | None = None, session: str | None = None) -> Any:
        """Send a command and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == message["id"]:
                assert "error" not in answer, (method, answer)
                return answer["result"]

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            data = os.read(self._read, 1 << 20)
            assert data, "the browser has ended"
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(text)
        page = self._pages.get(answer.get("sessionId", ""))
        if page is not None and answer.get("method") == "Runtime.exceptionThrown":
            page.errors.append(json.dumps(answer["params"]["exceptionDetails"]))
        return answer

    def new_page(self, size: tuple[int, int, bool] = DESKTOP, beside: Page | None = None) -> Page:
        """Open an empty page; it shares the cookies of the page `beside`, if one is given."""
        context = beside.context if beside else self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", {"url": "about:blank", "browserContextId": context})[
            "targetId"
        ]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = Page(self, session, target, context)
        self._pages[session] = page
        page.call("Page.enable")
        page.call("Runtime.enable")
        page.resize(size)
        return page

    def close(self) -> None:
        """End the browser."""
        with contextlib.suppress(AssertionError, OSError):
            self.call("Browser.close")
        os.close(self._write)
        os.close(self._read)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)


class Page:
    """One page of the browser; `errors` are exceptions that its scripts did not catch."""

    def __init__(self, browser: Browser, session: str, target: str, context: str) -> None:
        self._browser = browser
        self._session = session
        self._target = target
        self.context = context
        self.errors: list[str] = []

    def call(self, method: str, parameters: dict[str, Any] | None = None) -> Any:
        """Send a command to this page."""
        return self._browser.call(method, parameters, self._session)

    def resize(self, size: tuple[int, int, bool]) -> None:
        """Make the page as large as a phone or a desktop window."""
        width, height, mobile = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.call("Emulation.setDeviceMetricsOverride", metrics)
        self.call("Emulation.setTouchEmulationEnabled", {"enabled": mobile})

    def open(self, address: str) -> None:
        """Go to an address and wait until the page is loaded."""
        self.run("window.left = true")
        self.call("Page.navigate", {"url": address})
        self.wait_for("window.left === undefined && document.readyState === 'complete'")

    def close(self) -> None:
        """Close the page, as a user closes a tab."""
        self._browser.call("Target.closeTarget", {"targetId": self._target})

    def run(self, script: str) -> Any:
        """Return the value of an expression on the page."""
        asked = {"expression": script, "returnByValue": True, "awaitPromise": True}
        answer = self.call("Runtime.evaluate", asked)
        assert "exceptionDetails" not in answer, (script, answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> Any:
        """Wait until an expression is true and return its value."""
        deadline = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(AssertionError):  # the page may be changing
                value = self.run(condition)
                if value:
                    return value
            assert time.monotonic() < deadline, f"waited in vain for {condition}; errors: {self.errors}"
            time.sleep(0.02)

    def text(self, selector: str) -> str:
        """Return the text of an element."""
        return str(self.run(f"document.querySelector({json.dumps(selector)}).textContent"))

    def press(self, key: str) -> None:
        """Press and release a key."""
        code = _KEYS.get(key, ord(key[0].upper()))
        event = {"key": key, "windowsVirtualKeyCode": code, "nativeVirtualKeyCode": code}
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        self.call(
            "Input.dispatchKeyEvent",
            {"type": "keyDown", "text": text, **event} if text else {"type": "rawKeyDown", **event},
        )
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **event})

    def _middle(self, selector: str) -> tuple[float, float]:
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        return float(x), float(y)

    def click(self, selector: str) -> None:
        """Click the middle of an element with the mouse; what lies above it would get the click."""
        x, y = self._middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
            )

    def tap(self, selector: str) -> None:
        """Tap the middle of an element with a finger."""
        x, y = self._middle(selector)
        self.call("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        self.call("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    def swipe(self, selector: str, by: float) -> None:
        """Drag a finger sideways over an element, by some pixels to the right (negative: left)."""
        x, y = self._middle(selector)
        self.call("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        self.call("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x + by, "y": y}]})
        self.call("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    def picture(self, path: Path) -> None:
        """Save what the window shows as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", {"format": "png"})["data"]))

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        return int(self.run("document.documentElement.scrollWidth - window.innerWidth"))


@contextlib.contextmanager
def open_browser() -> Iterator[Browser]:
    """Start a browser for a test; skip the test where none is installed."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no browser is installed: expected one of {', '.join(NAMES)} on the path")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            yield browser
        finally:
            browser.close()
