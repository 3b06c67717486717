"""What a service manager such as systemd receives from the server, on the socket that NOTIFY_SOCKET names."""

import os
import signal
import socket
import time

from harness import START_SECONDS, OwnServerTest, main


class Notifications(OwnServerTest):
    def start(self, **variables):
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.manager.close)
        self.manager.settimeout(START_SECONDS)
        server = self.make_server()
        path = os.path.join(server.home, "notify")
        self.manager.bind(path)
        server.variables = {"NOTIFY_SOCKET": path, **variables}
        return server.start()

    def next_with(self, field):
        """The fields of the next message that has this one."""
        while True:
            fields = dict(line.split("=", 1) for line in self.manager.recv(4096).decode().split("\n"))
            if field in fields:
                return fields

    def test_from_the_start_to_the_stop(self):
        server = self.start()
        loading = self.next_with("STATUS")
        self.assertRegex(loading["STATUS"], r"^Loading: \d+ MB of filters after \d+ s$")
        self.assertGreater(int(loading["EXTEND_TIMEOUT_USEC"]), 1_000_000)
        self.assertEqual(self.next_with("READY"), {"READY": "1", "STATUS": f"Serving on port {server.port}"})
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        server.process.send_signal(signal.SIGHUP)
        reload_began = int(self.next_with("RELOADING")["MONOTONIC_USEC"])
        self.assertLessEqual(before, reload_began)
        self.assertLessEqual(reload_began, time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000)
        self.assertEqual(self.next_with("READY")["READY"], "1")
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.next_with("STOPPING"), {"STOPPING": "1"})
        self.assertIn("Stopping: 0 filters", self.next_with("STATUS")["STATUS"])
        self.assertEqual(server.wait(), 0, server.log())

    def test_each_event_loop_answers_the_watchdog(self):
        server = self.start(WATCHDOG_USEC="300000")
        for _ in range(3):
            self.assertEqual(self.next_with("WATCHDOG")["WATCHDOG"], "1")
        self.assert_stops_well(server)


if __name__ == "__main__":
    main()
