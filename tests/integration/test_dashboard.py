"""The dashboard of the admin port in Chromium; the tests are in node/dashboard_test.js. Its screenshots stay in the
folder that BITSIEVE_SCREENSHOTS names; ctest sets it."""

import os
import pathlib
from functools import partial

from admin import AdminPortTest
from harness import main
from node_packages import require_packages, run_node, skip_without

setUpModule = partial(skip_without, require_packages)


class Dashboard(AdminPortTest):
    def test_in_chromium(self):
        screenshots = pathlib.Path(os.environ["BITSIEVE_SCREENSHOTS"])
        screenshots.mkdir(parents=True, exist_ok=True)
        run_node(self, "dashboard_test.js", ADMIN_PORT=str(self.server.admin_port), SCREENSHOTS=str(screenshots))


if __name__ == "__main__":
    main()
