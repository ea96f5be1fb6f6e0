"""A proxy of TCP on loopback, between a client and a broker, that stalls or cuts when it is told to."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_BLOCK = 1 << 14


class Proxy:
    """What passes from the broker to its clients: `passed` bytes so far, of all connections, and at most `most`.

    Behind those, it stalls: it says nothing more; or with `cuts`, it closes that connection, and `cuts_left` others
    after as many bytes each.
    """

    def __init__(self, listener: socket.socket, target: tuple[str, int]):
        self._listener, self._target = listener, target
        self._flows = threading.Event()
        self._all: list[socket.socket] = []
        self.most: int | None = None
        self.cuts_left: int | None = None
        self.passed = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, after: int, times: int) -> None:
        """Close so many connections, each after so many bytes."""
        self.most, self.cuts_left, self.passed = after, times, 0

    def stall(self, after: int) -> None:
        """Pass so many bytes more, then none."""
        self._flows.clear()
        self.most, self.cuts_left, self.passed = after, None, 0

    def flow(self) -> None:
        """Pass everything from now on; connections that stall are closed."""
        self.most, self.cuts_left = None, None
        self._flows.set()

    def stop(self) -> None:
        """Close everything."""
        self._flows.set()
        for each in (self._listener, *self._all):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                broker = socket.create_connection(self._target)
                self._all += [client, broker]
                threading.Thread(target=self._pass, args=(client, broker), daemon=True).start()
                threading.Thread(target=self._answer, args=(broker, client), daemon=True).start()

    @staticmethod
    def _pass(source: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while content := source.recv(_BLOCK):
                to.sendall(content)
            to.shutdown(socket.SHUT_WR)

    def _answer(self, source: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while content := source.recv(_BLOCK):
                if self.most is not None and self.passed + len(content) > self.most:
                    to.sendall(content[: max(0, self.most - self.passed)])
                    self.passed = self.most
                    if self.cuts_left is None:
                        self._flows.wait()
                        break
                    self.cuts_left -= 1
                    self.most, self.passed = (self.most, 0) if self.cuts_left else (None, 0)
                    break
                to.sendall(content)
                self.passed += len(content)
        for each in (source, to):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy(port: int, target: int, host: str = "127.0.0.1") -> Iterator[Proxy]:
    """Pass what comes to a port on to another one of loopback, until the block ends."""
    with socket.create_server((host, port)) as listener:
        running = Proxy(listener, ("127.0.0.1", target))
        try:
            yield running
        finally:
            running.stop()
