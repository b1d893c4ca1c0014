"""Everything that may happen to a process; copied into the projects under test, where mutants call it."""

from __future__ import annotations

import contextlib
import ctypes
import locale
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from typing import Any

import pytest

FOREVER = 10**6
_SLEEP = f"import time; time.sleep({FOREVER})"
_DEAF = f"import signal; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 15)]; {_SLEEP}"
_kept: list[Any] = []


# -- hangs -------------------------------------------------------------------------------------------------------------


def loop() -> None:
    while True:
        pass


def sleep() -> None:
    time.sleep(FOREVER)


def lock() -> None:
    held = threading.Lock()
    held.acquire()
    held.acquire()


def regex() -> None:
    re.match("(a+)+$", "a" * 60 + "b")


def swallow() -> None:
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(FOREVER)


def joined() -> None:
    thread = threading.Thread(target=loop)
    thread.start()
    thread.join()


def deaf() -> None:
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
    loop()


def stopped() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def waits_for_child() -> None:
    subprocess.run([sys.executable, "-c", _DEAF], check=False)


def waits_for_fork() -> None:
    if child := os.fork():
        os.waitpid(child, 0)
    else:
        loop()


def full_pipe() -> None:
    _, end = os.pipe()
    while True:
        os.write(end, b"x" * 4096)


def endless_output() -> None:
    while True:
        print("x" * 1000)


# -- what is left running; the test itself passes ----------------------------------------------------------------------


def leaves_thread() -> None:
    threading.Thread(target=loop).start()


def leaves_child() -> None:
    _kept.append(subprocess.Popen([sys.executable, "-c", _SLEEP]))


def leaves_deaf_child() -> None:
    _kept.append(subprocess.Popen([sys.executable, "-c", _DEAF]))


def leaves_fork() -> None:
    if not os.fork():
        sleep()


def leaves_session() -> None:
    _kept.append(subprocess.Popen([sys.executable, "-c", _SLEEP], start_new_session=True))


def leaves_daemon() -> None:
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    sleep()


# -- deaths ------------------------------------------------------------------------------------------------------------


def segfault() -> None:
    ctypes.string_at(0)


def exit_green() -> None:
    os._exit(0)


def exit_red() -> None:
    os._exit(3)


def abort() -> None:
    os.abort()


def sys_exit() -> None:
    sys.exit(3)


def pytest_exit() -> None:
    pytest.exit("enough", returncode=0)


def interrupt() -> None:
    raise KeyboardInterrupt


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_group() -> None:
    os.killpg(0, signal.SIGKILL)


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def alarm() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    time.sleep(FOREVER)


def c_stack() -> None:
    sys.setrecursionlimit(10**9)

    def deeper(_: object) -> Any:
        return sorted([1], key=deeper)

    deeper(1)


def memory() -> None:
    while True:
        _kept.append(b"x" * (1 << 24))


# -- what is left changed; the test itself passes ----------------------------------------------------------------------


def chdir() -> None:
    os.chdir("/")


def gone_directory() -> None:
    os.chdir(tempfile.mkdtemp())
    shutil.rmtree(os.getcwd())


def environ() -> None:
    os.environ.clear()


def umask() -> None:
    os.umask(0o777)


def handlers() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)


def sys_path() -> None:
    sys.path[:] = [place for place in sys.path if "packages" in place]


def recursion_limit() -> None:
    sys.setrecursionlimit(len(list(_frames())) + 200)


def _frames() -> Any:
    frame: Any = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


def filters() -> None:
    warnings.simplefilter("error")


def set_locale() -> None:
    for name in ("C", "C.UTF-8"):
        with contextlib.suppress(locale.Error):
            locale.setlocale(locale.LC_ALL, name)


def no_logs() -> None:
    logging.disable(logging.CRITICAL)
    logging.root.handlers.clear()


def patched() -> None:
    module: Any = os
    module.getpid, module._exit, module.kill, module.read = (lambda: 1), print, print, print
    module = time
    module.monotonic = module.perf_counter = module.time = lambda: 0.0
    module.sleep = print


def close_stdout() -> None:
    sys.stdout.close()


def no_streams() -> None:
    sys.stdout = sys.stderr = None  # type: ignore[assignment]


def close_0() -> None:
    os.close(0)


def close_1() -> None:
    os.close(1)


def close_all() -> None:
    os.closerange(0, 256)
