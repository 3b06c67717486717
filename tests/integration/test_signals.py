"""What signals do to a running server: an orderly stop, a new log file or nothing. Never the loss of what was added."""

import os
import signal

from harness import REPLY_SECONDS, OwnServerTest, main, wait_until

STOPS = ("SIGINT", "SIGTERM", "SIGQUIT", "SIGPWR", "SIGXCPU")
# They end a process that does nothing about them.
HARMLESS = ("SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGPIPE", "SIGIO", "SIGXFSZ",
            "SIGSTKFLT", "SIGRTMIN", "SIGRTMAX")
# SIGKILL and SIGSTOP cannot be handled; a stop by the terminal can be continued; errors of the program shall end it.
OTHERS = ("SIGKILL", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGCONT", "SIGCHLD", "SIGURG", "SIGWINCH", "SIGILL",
          "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGSEGV", "SIGSYS")


class Signals(OwnServerTest):
    def holds(self, server, count):
        items = [f"i{i}" for i in range(count)]
        return sum(server.client().bf().mexists("f", *items)) == count

    def test_every_signal_of_the_system_is_decided_on(self):
        known = {getattr(signal, name) for name in STOPS + HARMLESS + OTHERS if hasattr(signal, name)}
        self.assertEqual({s for s in signal.valid_signals() if isinstance(s, signal.Signals)} - known, set())

    def test_no_signal_loses_what_was_acknowledged(self):
        """The last add is acknowledged right before the signal; without an orderly stop it would be lost."""
        for name in STOPS + HARMLESS:
            with self.subTest(signal=name):
                server = self.make_server(save_interval=0, appendfsync="everysec").start()
                connection = server.connect()
                connection.command("BF.RESERVE", "f", "0.000001", 1000)  # no new item is taken for a known one
                for i in range(100):
                    self.assertEqual(connection.command("BF.ADD", "f", f"i{i}"), b":1\r\n")
                server.process.send_signal(getattr(signal, name))
                if name in STOPS:
                    self.assertEqual(server.wait(), 0, server.log())
                    self.assertIn(f"Received {name}", server.log())
                else:
                    self.assertEqual(connection.command("BF.ADD", "f", "i100"), b":1\r\n", name)
                    self.assert_stops_well(server)
                server.start()
                self.assertTrue(self.holds(server, 100 if name in STOPS else 101), name)
                self.assert_stops_well(server)

    def test_signals_during_a_stop_lose_nothing(self):
        for _ in range(5):  # some signals come when the last threads end
            self.stop_under_signals()

    def stop_under_signals(self):
        server = self.make_server(save_interval=0).start()
        connection = server.connect()
        connection.command("BF.RESERVE", "large", "0.01", 20_000_000)  # the last snapshot takes a while
        connection.command("BF.ADD", "large", "x")
        connection.command("BF.ADD", "f", "i0")
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "Stopping with" in server.log(), REPLY_SECONDS, "the stop begins")
        while server.alive():
            for name in HARMLESS:
                server.process.send_signal(getattr(signal, name))
        self.assertEqual(server.wait(), 0, server.log())
        server.start()
        self.assertTrue(self.holds(server, 1))
        self.assert_stops_well(server)


class LogFile(OwnServerTest):
    def server_with_log_file(self):
        server = self.make_server()
        server.log_path = os.path.join(server.home, "server.log")
        server.options["logfile"] = server.log_path
        return server

    def test_sighup_begins_a_new_log_file(self):
        server = self.server_with_log_file().start()
        moved = server.log_path + ".1"
        os.rename(server.log_path, moved)
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: os.path.exists(server.log_path), REPLY_SECONDS, "there is a new log file")
        self.assert_stops_well(server)
        with open(moved, encoding="utf-8") as old, open(server.log_path, encoding="utf-8") as new:
            old, new = old.read(), new.read()
        self.assertIn("Ready after", old)
        self.assertNotIn("Stopped in", old)
        self.assertRegex(new, r"^\S+ info Reopened the log file\n")
        self.assertIn("Stopped in", new)

    def test_a_log_file_that_cannot_be_opened_keeps_the_old_one(self):
        server = self.server_with_log_file().start()
        moved = server.log_path + ".1"
        os.rename(server.log_path, moved)
        os.mkdir(server.log_path)
        server.process.send_signal(signal.SIGHUP)

        def old():
            with open(moved, encoding="utf-8") as file:
                return file.read()
        wait_until(lambda: "cannot be reopened" in old(), REPLY_SECONDS, "the old log file says so")
        os.rmdir(server.log_path)
        os.rename(moved, server.log_path)
        self.assert_stops_well(server)
        self.assertIn("Stopped in", server.log())


if __name__ == "__main__":
    main()
