"""Java programs that end with the tests, however the tests end."""

import subprocess
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired

from kip848_records.spark.java import _command

QUICK = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
"""For programs that live for seconds or minutes, on a machine where others work too."""

# Each line that the shell reads is the name of a signal for Java. After the last line Java is killed: when the tests
# die, however suddenly, their end of the pipe is closed.
_WATCHED = """
exec 3<&0
"$@" </dev/null 3<&- &
java=$!
{ while read -r signal; do kill -s "$signal" $java; done <&3; kill -s KILL $java; } 2>/dev/null &
watch=$!
exec 3<&- </dev/null
wait $java
status=$?
kill $watch 2>/dev/null
exit $status
"""


class Daemon:
    """A Java program in the background; it is killed when this process is gone.

    What it prints is added to `log`.
    """

    def __init__(self, class_path: str, options: list[str], program: list[str], log: Path):
        self.log = log
        command = [_command(), *QUICK, *options, "-cp", class_path, *program]
        with log.open("ab") as out:
            self._shell = subprocess.Popen(
                ["sh", "-c", _WATCHED, "sh", *command],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C is for the tests, which then stop us in order
            )

    def ended(self) -> bool:
        return self._shell.poll() is not None

    def stop(self, *, hard: bool = False, patience: float = 20) -> None:
        """Return when the program is gone: asked to go, or with `hard` or after `patience` seconds killed."""
        with suppress(BrokenPipeError, TimeoutExpired), self._shell.stdin as signals:
            if not hard:
                signals.write(b"TERM\n")
                signals.flush()
                self._shell.wait(patience)
        self._shell.wait()


def run(class_path: str, program: list[str], timeout: float = 60) -> str:
    """Return what a Java program prints on its standard output.

    Raises CalledProcessError, with the output of both kinds, if it fails, TimeoutExpired if it takes too long.
    """
    command = [_command(), *QUICK, "-Xmx256m", "-cp", class_path, *program]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    if answer.returncode:
        raise subprocess.CalledProcessError(answer.returncode, program, answer.stdout, answer.stderr)
    return answer.stdout


def keytool(*arguments: str) -> None:
    """Run the program for keys and certificates that lies beside Java's own."""
    program = str(Path(_command()).with_name("keytool"))
    subprocess.run([program, *arguments], capture_output=True, check=True)
