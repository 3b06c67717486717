"""examples/password_page in Chromium, against a real server; the tests are in node/password_page_test.js."""

import functools
import http.server
import pathlib
import shutil
import tempfile
import threading

from admin import AdminPortTest
from harness import main
from node_packages import require_packages, run_node, skip_without

setUpModule = functools.partial(skip_without, require_packages)

ROOT = pathlib.Path(__file__).parents[2]


class Site(http.server.SimpleHTTPRequestHandler):
    extensions_map = {"": "text/plain; charset=utf-8", ".html": "text/html", ".mjs": "text/javascript"}

    def log_message(self, *arguments):
        pass


class PasswordPage(AdminPortTest):
    OPTIONS = {"admin_filters": "yes"}

    def test_in_chromium(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="bitsieve-test-"))
        self.addCleanup(shutil.rmtree, folder)
        for path in (*(ROOT / "clients" / "js").glob("*.mjs"), *(ROOT / "examples" / "password_page").iterdir()):
            shutil.copy(path, folder)
        page = folder / "index.html"
        text = page.read_text(encoding="utf-8")
        self.assertEqual(text.count(":9379"), 2)
        page.write_text(text.replace(":9379", f":{self.server.admin_port}"), encoding="utf-8")
        site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Site, directory=folder))
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(site.server_close)
        self.addCleanup(site.shutdown)
        origin = f"http://127.0.0.1:{site.server_port}"
        self.client().config_set("admin-filters-origin", origin)
        run_node(self, "password_page_test.js", ADMIN_PORT=str(self.server.admin_port), SITE=origin)


if __name__ == "__main__":
    main()
