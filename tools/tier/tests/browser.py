# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A headless Chromium, told what to do over its debugging pipe: one process for all pages of a test."""
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time


class Browser:
    """`with Browser() as browser`. Errors of scripts, and whatever a page tries to load, are collected."""

    @staticmethod
    def path():
        return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True)
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()

        def as_3_and_4():  # where Chromium looks for them
            read, write = os.dup(to_read), os.dup(to_write)
            os.dup2(read, 3)
            os.dup2(write, 4)
            os.setsid()

        # As root, in a container, there is no sandbox; /dev/shm is often too small there.
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
                   "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
                   f"--user-data-dir={self.profile.name}"]  # fmt: skip
        self.log = tempfile.TemporaryFile(dir="/var/tmp")
        self.process = subprocess.Popen([self.path(), *options, "about:blank"], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        pass_fds=(3, 4), preexec_fn=as_3_and_4)  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.next_id, self.session, self.events = b"", 0, None, []
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)  # it and its children
        self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        self.log.close()
        self.profile.cleanup()

    def call(self, method, **parameters):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self.next_id:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    def _receive(self):
        while b"\0" not in self.buffer:
            some = os.read(self.from_browser, 1 << 20)
            if not some:
                self.log.seek(0)
                raise RuntimeError("the browser has ended: " + self.log.read().decode(errors="replace")[-2000:])
            self.buffer += some
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, url, width, height=900, scheme="light", script=True):
        """A page, loaded, in a window of that size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.events.clear()
        self.call("Page.navigate", url=url)
        deadline = time.monotonic() + 60
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            assert time.monotonic() < deadline, f"{url} is not loaded after a minute"
            self.events.append(self._receive())

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def problems(self):
        """What went wrong on the page since it was opened: errors, and requests for anything but itself."""
        found = []
        for event in self.events:
            method, what = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(what["exceptionDetails"])
            elif method == "Log.entryAdded" and what["entry"]["level"] in ("warning", "error"):
                found.append(what["entry"]["text"])
            elif method == "Runtime.consoleAPICalled":
                found.append(what)
            elif method == "Network.requestWillBeSent" and what["type"] != "Document":
                found.append(what["request"]["url"])
        return found

    def screenshot(self, whole=True, clip=None):
        """PNG of the whole page, of the window, or of a box {x, y, width, height}."""
        more = {"clip": {**clip, "scale": 1}} if clip else {}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole or bool(clip), **more)["data"])

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True)["data"])

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, start, end):
        self.mouse("mouseMoved", *start)
        self.mouse("mousePressed", *start, button="left", clickCount=1)
        self.mouse("mouseMoved", *end, button="left", buttons=1)
        self.mouse("mouseReleased", *end, button="left", clickCount=1)
