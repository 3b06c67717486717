"""docker/prometheus and docker/grafana: the alert rules fire when they should, and every query of the dashboard and of
the rules has an answer from a Prometheus that scrapes a real server."""

import contextlib
import json
import pathlib
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import admin
import yaml
from harness import REPLY_SECONDS, START_SECONDS, OwnServerTest, main, wait_until

DOCKER = pathlib.Path(__file__).parents[2] / "docker"
RULES = DOCKER / "prometheus" / "bitsieve.rules.yml"
DASHBOARD = json.loads((DOCKER / "grafana" / "bitsieve.json").read_text())
METRIC = re.compile(r"\bbitsieve_\w+")


def rules():
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def panel_queries():
    return [(panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]


def fetch(url):
    with urllib.request.urlopen(url, timeout=REPLY_SECONDS) as response:
        return response.read().decode()


class Files(OwnServerTest):
    def promtool(self, *arguments):
        done = subprocess.run(["promtool", *arguments], cwd=RULES.parent, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_rules(self):
        self.promtool("check", "rules", RULES.name)
        self.promtool("test", "rules", "bitsieve.rules.test.yml")
        self.promtool("check", "config", "--syntax-only", "prometheus.yml")

    def test_each_rule_is_tested_and_has_its_place_in_the_documentation(self):
        tests = (RULES.parent / "bitsieve.rules.test.yml").read_text()
        page = (DOCKER.parent / "docs" / "operations" / "monitor.md").read_text()
        for rule in rules():
            self.assertIn(f"alertname: {rule['alert']}\n        exp_alerts", tests)
            self.assertIn(f"`{rule['alert']}`", page)


class Scraped(OwnServerTest):
    def setUp(self):
        self.server = admin.make(metrics_filters="*", maxmemory="1gb")
        self.addCleanup(self.server.clean_up)
        self.server.start()
        self.server.client().bf().add("f", "item")
        self.metrics = f"http://127.0.0.1:{self.server.admin_port}/metrics"
        self.start_prometheus()

    def start_prometheus(self):
        """With the files of docker/, except for where the server is and how often it is scraped."""
        home = pathlib.Path(self.server.home)
        config = yaml.safe_load((RULES.parent / "prometheus.yml").read_text())
        config["global"] = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
        config["rule_files"] = [str(RULES)]
        job = config["scrape_configs"][0]
        job["static_configs"] = [{"targets": [f"127.0.0.1:{self.server.admin_port}"]}]
        job.pop("basic_auth")
        (home / "prometheus.yml").write_text(yaml.safe_dump(config))
        self.api = f"http://127.0.0.1:{admin.free_port()}"
        command = ["prometheus", f"--config.file={home}/prometheus.yml", f"--storage.tsdb.path={home}/tsdb",
                   f"--web.listen-address={self.api.removeprefix('http://')}"]
        with open(home / "prometheus.log", "wb") as log:
            prometheus = subprocess.Popen(command, stdout=log, stderr=log)
        self.addCleanup(prometheus.wait)
        self.addCleanup(prometheus.kill)
        self.job = job["job_name"]
        wait_until(self.prometheus_is_ready, START_SECONDS, "Prometheus is ready")

    def prometheus_is_ready(self):
        with contextlib.suppress(OSError):  # HTTP's errors are among them
            return "ready" in fetch(self.api + "/-/ready").lower()
        return False

    def results(self, query):
        url = f"{self.api}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        try:
            return json.loads(fetch(url))["data"]["result"]
        except urllib.error.HTTPError as error:
            self.fail(f"{query}: {error.read().decode()}")

    def test_queries(self):
        wait_until(lambda: "bitsieve_filter_items" in fetch(self.metrics), REPLY_SECONDS, "figures of filters")
        reported = set(METRIC.findall(fetch(self.metrics)))
        for rule in rules():
            self.assertLessEqual(set(METRIC.findall(rule["expr"])), reported, rule["alert"])
        for title, query in panel_queries():
            query = query.replace("$job", self.job).replace("$instance", ".*").replace("$__rate_interval", "5m")
            with self.subTest(panel=title, query=query):
                wait_until(lambda query=query: self.results(query), REPLY_SECONDS, "an answer from Prometheus")
        self.assertEqual(json.loads(fetch(self.api + "/api/v1/alerts"))["data"]["alerts"], [])
        self.server.stop()
        wait_until(lambda: any(alert["labels"]["alertname"] == "BitsieveDown" for alert in
                               json.loads(fetch(self.api + "/api/v1/alerts"))["data"]["alerts"]),
                   REPLY_SECONDS, "Prometheus notices that the server is down")


if __name__ == "__main__":
    main()
