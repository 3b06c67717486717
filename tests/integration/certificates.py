"""Certificates of an authority of its own, made by the openssl tool."""

import os
import subprocess


def openssl(*arguments):
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise AssertionError(f"openssl {arguments}: {done.stdout}{done.stderr}")


class Authority:
    """Files in `directory`: NAME.crt and NAME.key of the authority and of each certificate that it signs."""

    KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")

    def __init__(self, directory, name="ca"):
        self.directory, self.name = directory, name
        openssl("req", "-x509", *self.KEY, "-nodes", "-keyout", self.key(name), "-out", self.certificate(name),
                "-subj", f"/CN={name}", "-days", 2)

    def certificate(self, name):
        return os.path.join(self.directory, name + ".crt")

    def key(self, name):
        return os.path.join(self.directory, name + ".key")

    def sign(self, name, names="DNS:localhost,IP:127.0.0.1", days=2, password=""):
        """`names` are the hosts that it is for; -1 days: it has expired."""
        request, hosts = os.path.join(self.directory, "request"), os.path.join(self.directory, "hosts")
        lock = ("-passout", "pass:" + password) if password else ("-nodes",)
        openssl("req", *self.KEY, *lock, "-keyout", self.key(name), "-out", request, "-subj", f"/CN={name}")
        with open(hosts, "w", encoding="utf-8") as file:
            file.write("subjectAltName=" + names)
        openssl("x509", "-req", "-in", request, "-CA", self.certificate(self.name), "-CAkey", self.key(self.name),
                "-CAcreateserial", "-out", self.certificate(name), "-days", days, "-extfile", hosts)
        return self.certificate(name), self.key(name)
