"""A run of the tests in the background, which ignores Ctrl-C, can still interrupt what its tests start."""

import signal
import subprocess

import pytest

from tests.conftest import heed_interrupts


@pytest.fixture
def ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted_shell():
    return subprocess.run(["sh", "-c", "kill -INT $$; echo ignored"], capture_output=True, text=True, check=False)


@pytest.mark.process
@pytest.mark.usefixtures("ignored")
def test_programs_that_tests_start_are_interrupted():
    assert interrupted_shell().stdout == "ignored\n"
    heed_interrupts()
    assert (interrupted_shell().returncode, interrupted_shell().stdout) == (-signal.SIGINT, "")
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.process
def test_this_run_is_set_up_so():
    assert (interrupted_shell().returncode, interrupted_shell().stdout) == (-signal.SIGINT, "")
