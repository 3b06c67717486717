"""docker/: the Kubernetes manifests have the published schema and fit together, the server accepts the options that all
files give it, and files refer to files that exist."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml
from harness import ENVIRONMENT, binary, main
from kubernetes import client

DOCKER = pathlib.Path(__file__).parents[2] / "docker"
CUSTOM_KINDS = {"ServiceMonitor"}  # not of Kubernetes itself
PASSWORD_FILE = "BITSIEVE_REQUIREPASS_FILE"


def documents(text):
    return [document for document in yaml.safe_load_all(text) if document]


def kustomized():
    """What kubectl would apply, with the optional resource as well."""
    with tempfile.TemporaryDirectory(prefix="bitsieve-test-") as home:
        base = shutil.copytree(DOCKER / "kubernetes", pathlib.Path(home, "base"))
        (base / "requirepass").write_text("secret\n")
        path = base / "kustomization.yaml"
        path.write_text(path.read_text().replace("# - servicemonitor.yaml", "  - servicemonitor.yaml"))
        done = subprocess.run(["kubectl", "kustomize", str(base)], capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return documents(done.stdout)


def model_name(document):
    """In Kubernetes' client: V1StatefulSet of apps/v1."""
    return document["apiVersion"].split("/")[-1].capitalize() + document["kind"]


class Json:
    """A response, for the client to read."""

    def __init__(self, document):
        self.data = json.dumps(document)


def containers(pod):
    return pod["spec"].get("initContainers", []) + pod["spec"]["containers"]


def pods(manifests):
    for document in manifests:
        if document["kind"] == "Pod":
            yield document
        elif "template" in document.get("spec", {}):
            yield document["spec"]["template"]


class Kubernetes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = kustomized()
        cls.all = {"kubernetes/": cls.server}
        for name in ("sidecar.yaml", "cluster.yaml"):
            cls.all[name] = documents((DOCKER / name).read_text())

    def of_kind(self, kind):
        found = [document for document in self.server if document["kind"] == kind]
        self.assertEqual(len(found), 1, kind)
        return found[0]

    def test_manifests_have_the_published_schema(self):
        """The client's models refuse what is missing or no valid choice, and leave out what they do not know."""
        api = client.ApiClient()
        for name, manifests in self.all.items():
            for document in manifests:
                if document["kind"] in CUSTOM_KINDS:
                    continue
                with self.subTest(file=name, kind=document["kind"]):
                    model = api.deserialize(Json(document), model_name(document))
                    self.assertEqual(api.sanitize_for_serialization(model), document)

    def test_each_file_is_a_resource(self):
        listed = (DOCKER / "kubernetes" / "kustomization.yaml").read_text()
        for path in (DOCKER / "kubernetes").glob("*.yaml"):
            if path.name != "kustomization.yaml":
                self.assertIn(f"- {path.name}", listed)

    def test_ports_that_are_named_exist(self):
        pod = self.of_kind("StatefulSet")["spec"]["template"]
        names = {port["name"] for container in containers(pod) for port in container["ports"]}
        used = {port["targetPort"] for port in self.of_kind("Service")["spec"]["ports"]}
        for rule in self.of_kind("NetworkPolicy")["spec"]["ingress"]:
            used |= {port["port"] for port in rule["ports"]}
        for container in containers(pod):
            used |= {probe["httpGet"]["port"] for key, probe in container.items() if key.endswith("Probe")}
        used |= {endpoint["port"] for endpoint in self.of_kind("ServiceMonitor")["spec"]["endpoints"]}
        self.assertEqual(used, names)

    def test_the_user_is_that_of_the_image(self):
        dockerfile = (DOCKER / "Dockerfile").read_text()
        user = self.of_kind("StatefulSet")["spec"]["template"]["spec"]["securityContext"]
        self.assertIn(f"\nUSER {user['runAsUser']}:{user['fsGroup']}\n", dockerfile)

    def test_selectors_find_the_pod(self):
        labels = self.of_kind("StatefulSet")["spec"]["template"]["metadata"]["labels"]
        service = self.of_kind("Service")
        for selector in (service["spec"]["selector"], self.of_kind("StatefulSet")["spec"]["selector"]["matchLabels"],
                         self.of_kind("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
                         self.of_kind("NetworkPolicy")["spec"]["podSelector"]["matchLabels"]):
            self.assertLessEqual(selector.items(), labels.items())
        monitor = self.of_kind("ServiceMonitor")["spec"]["selector"]["matchLabels"]
        self.assertLessEqual(monitor.items(), service["metadata"]["labels"].items())

    def test_every_container_is_confined(self):
        for manifests in self.all.values():
            for pod in pods(manifests):
                self.assertTrue(pod["spec"]["securityContext"]["runAsNonRoot"])
                for container in containers(pod):
                    self.assertFalse(container["securityContext"]["allowPrivilegeEscalation"])
                    self.assertEqual(container["securityContext"]["capabilities"], {"drop": ["ALL"]})


class Options(unittest.TestCase):
    """The server itself reads them."""

    def variables_of_image(self):
        text = (DOCKER / "Dockerfile").read_text().replace("\\\n", " ")
        lines = [line.split()[1:] for line in text.splitlines() if line.startswith("ENV ")]
        return dict(word.split("=", 1) for line in lines for word in line)

    def assert_accepted(self, variables):
        with tempfile.NamedTemporaryFile("w", prefix="bitsieve-test-") as password:
            password.write("secret\n")
            password.flush()
            variables = {**self.variables_of_image(), **variables}
            if PASSWORD_FILE in variables:
                variables[PASSWORD_FILE] = password.name
            environment = dict(ENVIRONMENT)
            done = subprocess.run([binary(), "serve", "--print-config"], env={**environment, **variables},
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            for name in variables:
                self.assertIn(f": from {name}\n", done.stderr)

    def test_compose(self):
        compose = yaml.safe_load((DOCKER / "compose.yaml").read_text())
        self.assert_accepted(compose["services"]["bitsieve"]["environment"])

    def test_kubernetes(self):
        for manifests in (kustomized(), documents((DOCKER / "sidecar.yaml").read_text())):
            for pod in pods(manifests):
                for container in containers(pod):
                    if container["name"] == "bitsieve":
                        self.assert_accepted({each["name"]: each["value"] for each in container["env"]})


class Passwords(unittest.TestCase):
    def test_files_with_a_password_have_nothing_else(self):
        """A newline at their end would be part of the password for others who read the file or the Secret."""
        root = DOCKER.parent
        pages = [*(root / "docs").rglob("*.md"), *DOCKER.rglob("*.yaml"), root / "README.md"]
        commands = [line for page in pages for line in page.read_text().splitlines() if "openssl rand" in line]
        self.assertGreater(len(commands), 5)
        for line in commands:
            make = re.search(r"openssl rand[^>]*(?=> *\S*requirepass)", line)
            self.assertIsNotNone(make, line)
            done = subprocess.run(["sh", "-c", make[0]], capture_output=True, text=True, timeout=60, check=True)
            self.assertRegex(done.stdout, r"\A[0-9a-f]{64}\Z", line)


class Compose(unittest.TestCase):
    def test_files_that_are_mounted_exist(self):
        text = (DOCKER / "compose.monitoring.yaml").read_text()
        services = yaml.safe_load(text)["services"]
        mounts = [mount.split(":")[0] for service in services.values() for mount in service.get("volumes", [])]
        files = [DOCKER / mount for mount in mounts if mount.startswith("./")]
        self.assertEqual(len(files), 5)
        for file in files:
            self.assertTrue(file.is_file(), file)


if __name__ == "__main__":
    main()
