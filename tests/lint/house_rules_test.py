"""Each rule must find what it is there for, and leave what is right alone."""
import unittest

import branch_coverage
import house_rules as rules


def layers(path, text):
    return list(rules.layer_complaints(path, text, exists=lambda target: "missing" not in target))


class Homes(unittest.TestCase):
    HEADER = "class Door final : public Part {\n  void Open();\n};\nint Count(\n    int of);\n"

    def complaints(self, **texts):
        return list(rules.home_complaints({"a/door.h": self.HEADER,
                                           **{f"{name}/door.cc": text for name, text in texts.items()}}))

    def test_functions_that_are_defined_in_another_folder_are_found(self):
        self.assertEqual(len(self.complaints(b="void Door::Open() {\n")), 1)
        self.assertEqual(len(self.complaints(b="int Count(int of) {\n")), 1)

    def test_the_own_folder_and_those_below_it_are_homes(self):
        text = "void Door::Open() {\n}\nint Count(int of) {\n"
        self.assertEqual(self.complaints(a=text), [])
        self.assertEqual(self.complaints(**{"a/b": text}), [])

    def test_another_function_of_the_same_name_is_none_of_its_business(self):
        self.assertEqual(self.complaints(a="int Count(int of) {\n", b="int Count(char of) {\n"), [])
        self.assertEqual(self.complaints(b="  int Count(int of) {\nvoid Window::Open() {\n"), [])


class Layers(unittest.TestCase):
    def test_an_upward_include_is_found(self):
        self.assertEqual(len(layers("core/base/x.h", '#include "core/filter/filter.h"\n')), 1)
        self.assertEqual(len(layers("core/filter/x.h", '#include "core/families/bloom/sub_filter.h"\n')), 1)
        self.assertEqual(len(layers("core/families/cuckoo/x.h", '#include "core/families/ribbon/hash_set.h"\n')), 1)
        self.assertEqual(len(layers("core/x.cc", '#include "server/net/x.h"\n')), 1)
        self.assertEqual(len(layers("protocol/x.cc", '  # include "core/filter/filter.h"\n')), 1)
        self.assertEqual(len(layers("server/keyspace/x.cc", '#include "commands/command.h"\n')), 1)

    def test_allowed_includes_pass(self):
        self.assertEqual(layers("server/keyspace/x.cc", '#include "commands/keyspace.h"\n'), [])
        self.assertEqual(layers("server/commands/x.cc", '#include "protocol/x.h"\n#include <string>\n'), [])
        self.assertEqual(layers("core/filter/x.cc", '// #include "server/net/x.h"\n'), [])

    def test_a_missing_file_and_an_unknown_folder_are_found(self):
        self.assertEqual(len(layers("core/x.cc", '#include "core/missing.h"\n')), 1)
        self.assertEqual(len(layers("tools/x.cc", "")), 1)

    def test_libraries_have_their_places(self):
        self.assertEqual(layers("server/net/x.cc", "#include <asio.hpp>\n"), [])
        self.assertEqual(len(layers("server/commands/x.cc", "#include <asio/buffer.hpp>\n")), 1)
        self.assertEqual(len(layers("core/x.cc", "#include <spdlog/spdlog.h>\n")), 1)
        self.assertEqual(len(layers("protocol/x.cc", "#include <nlohmann/json.hpp>\n")), 1)


class Text(unittest.TestCase):
    def test_long_lines_tabs_blanks_and_open_ends_are_found(self):
        for text in ("x" * 121 + "\n", "a\tb\n", "a \n", "a", "a\n" * 501):
            self.assertEqual(len(list(rules.text_complaints("a.cc", text))), 1, text[:10])
        self.assertEqual(list(rules.text_complaints("a.cc", "\u00e4" * 120 + "\n")), [])


class Sources(unittest.TestCase):
    def complaints(self, path, text):
        return len(list(rules.source_complaints(path, text)))

    def test_headers_begin_with_their_purpose_and_pragma_once(self):
        self.assertEqual(self.complaints("core/x.h", "// x.h: what.\n#pragma once\nint a;\n"), 0)
        self.assertEqual(self.complaints("core/x.h", "// x.h: what.\nint a;\n#pragma once\n"), 1)
        self.assertEqual(self.complaints("core/x.h", "// y.h: what.\n#pragma once\n"), 1)
        self.assertEqual(self.complaints("core/x.h", ""), 2)

    def test_using_namespace_std_is_found(self):
        self.assertEqual(self.complaints("x.cc", "using namespace std;\n"), 1)
        self.assertEqual(self.complaints("x.cc", "using namespace std::chrono_literals;\n"), 0)

    def test_a_third_form_of_errors_is_found(self):
        self.assertEqual(self.complaints("x.cc", "tl::expected<int, char> Do();\n"), 1)
        self.assertEqual(self.complaints("x.cc", "core::Outcome<int, char> Do();\n"), 0)


class Commits(unittest.TestCase):
    def test_subjects_are_short_and_plain_statements(self):
        for subject in ("x" * 73, "lower case", "Ends with a period."):
            self.assertGreaterEqual(len(list(rules.commit_complaints([subject]))), 1, subject)
        for subject in ("Bound replies inside EXEC", "`load` reads gzip", "docs: the first session", "X" * 72):
            self.assertEqual(list(rules.commit_complaints([subject])), [], subject)


class Comments(unittest.TestCase):
    def test_those_without_a_subject_are_counted_against_a_limit_that_falls(self):
        code = "// What it is.\nint a;\n// Returns the sum.\n// As of b.\nint b;  // of it\n  // Whose it is.\n"
        found = list(rules.comment_complaints({"a.h": code}, 1))
        self.assertEqual(len(found), 1)
        self.assertIn("2 comments begin without a subject, 1 at most", found[0])
        self.assertIn("\na.h:1: // What it is.\na.h:6: // Whose it is.", found[0])
        self.assertEqual(list(rules.comment_complaints({"a.h": code}, 2)), [])
        self.assertIn("can fall", next(rules.comment_complaints({"a.h": code}, 3)))


class Words(unittest.TestCase):
    def test_unfinished_work_and_other_places_are_found(self):
        for words in ("TO" + "DO: later", "see iss" + "ue 12", "in /wo" + "rk/x", "x FIX" + "ME"):
            self.assertEqual(len(list(rules.word_complaints("a", words))), 1, words)
        self.assertEqual(list(rules.word_complaints("a", "the work of an issue; /usr/share/work")), [])


class DeadFiles(unittest.TestCase):
    def complaints(self, files):
        return list(rules.dead_file_complaints(sorted(files), files.__getitem__))

    def test_sources_in_no_target_are_found(self):
        lists = "add_library(a x.cc sub/y.cc ${PROJECT_SOURCE_DIR}/tests/z.cc)\nbench(fast)\n"
        alive = {"core/CMakeLists.txt": lists, "tests/z.cc": ""}
        alive |= {"core/x.cc": "", "core/sub/y.cc": "", "core/fast.cc": ""}
        self.assertEqual(self.complaints(alive), [])
        self.assertEqual(self.complaints(alive | {"core/xx.cc": ""}), ["core/xx.cc: in no CMake target"])
        self.assertEqual(self.complaints(alive | {"core/other/x.cc": ""}), ["core/other/x.cc: in no CMake target"])

    def test_headers_nobody_includes_are_found(self):
        lists = {"CMakeLists.txt": "a.cc", "a.cc": '#include "a.h"\n', "a.h": ""}
        self.assertEqual(self.complaints(lists), [])
        self.assertEqual(self.complaints(lists | {"b.h": ""}), ["b.h: nobody includes it"])


class UntestedHeaders(unittest.TestCase):
    FILES = {"core/a.h": '#include "core/b.h"\n', "core/b.h": "", "module/c.h": "", "tests/support/d.h": "",
             "core/a.cc": '#include "module/c.h"\n',
             "tests/unit/core/a_test.cc": '#include "core/a.h"\n// #include "core/b.h"\n',
             "tests/unit/clients/c_test.c": "#include <clients/c/e.h>\n", "clients/c/e.h": ""}

    def complaints(self, exceptions):
        return list(rules.untested_header_complaints(sorted(self.FILES), self.FILES.__getitem__, exceptions))

    def test_headers_that_only_other_code_includes_are_found(self):
        self.assertEqual(self.complaints([]), ["core/b.h: no test includes it", "module/c.h: no test includes it"])
        self.assertEqual(self.complaints(["core/b.h", "module/c.h"]), [])

    def test_exceptions_that_are_no_longer_needed_are_found(self):
        for stale in ("core/a.h", "core/gone.h"):
            found = self.complaints(sorted(["core/b.h", "module/c.h", stale]))
            self.assertEqual(found, [f"{rules.UNTESTED_HEADERS}: {stale} is tested, or no longer there: "
                                     "the line can go"])

    def test_exceptions_are_sorted_and_there_once(self):
        for listed in (["module/c.h", "core/b.h"], ["core/b.h", "core/b.h", "module/c.h"]):
            self.assertIn("not sorted", self.complaints(listed)[0])


class Version(unittest.TestCase):
    def test_pages_of_another_version_are_found(self):
        cmake = "project(bitsieve VERSION 1.2.0 LANGUAGES CXX)"
        found = list(rules.version_complaints(cmake, {"a": "image: b:1.2.0", "b": "1.2.0.1", "c": "11.2.0"}))
        self.assertEqual([line.split(":")[0] for line in found], ["b", "c"])


class ThreadLocals(unittest.TestCase):
    def test_variables_that_may_have_a_destructor_are_found(self):
        text = "void F() {\n  thread_local std::string text;\n  thread_local uint64_t count = 0;\n}\n"
        self.assertEqual(len(list(rules.thread_local_complaints("core/a.cc", text))), 1)
        checked = "  thread_local Random random;\n  static_assert(std::is_trivially_destructible_v<Random>);\n"
        self.assertEqual(list(rules.thread_local_complaints("core/a.cc", checked)), [])


class ThreadNames(unittest.TestCase):
    def test_threads_that_only_code_page_or_picture_have_are_found(self):
        code = {"a.cc": 'core::NameThread("loop");', "b.h": 'core::NameThread("log-job");'}
        page = "## Threads\n\n| `loop` | 1 |\n| `log-job` | 2 |\n\n## Memory\n"
        picture = '<text font-weight="bold">loop</text><text font-weight="bold">log-job</text>'
        self.assertEqual(list(rules.thread_name_complaints(code, page, picture)), [])
        found = list(rules.thread_name_complaints({**code, "c.cc": 'core::NameThread("reaper");'},
                                                  page.replace("`loop`", "`loops`"), picture))
        self.assertEqual(found, [f'{rules.THREADS_PAGE}: does not have the thread "loop"',
                                 f'{rules.THREADS_PAGE}: does not have the thread "reaper"',
                                 f'{rules.THREADS_PAGE}: has a thread "loops", which no code names',
                                 f'{rules.THREADS_PICTURE}: does not have the thread "reaper"'])


class LogLines(unittest.TestCase):
    def test_lines_that_the_page_does_not_have_are_found(self):
        code = ('spdlog::info("fine");\nspdlog::warn("{}: {}", a, b);\n'
                'spdlog::error(\n    "The disk "\n    "is {}", why);\n')
        self.assertEqual(list(rules.log_line_complaints("a.cc", code, "`The disk is …`")), [])
        found = list(rules.log_line_complaints("a.cc", code, "The disk was"))
        self.assertEqual(found, [f'a.cc:3: {rules.TROUBLE_PAGE} does not have the line "The disk is {{}}"'])


class SharedNames(unittest.TestCase):
    def test_what_two_tests_of_a_target_define_is_found(self):
        cmake = "bitsieve_test(a_test SOURCES\n    a.cc\n    b.cc)\nbitsieve_test(c_test SOURCES c.cc)"
        files = {"a.cc": "class Fake final : public Real {\n};\nint Sum(int a, int b) {\n}\nint Of(char c) {\n}\n",
                 "b.cc": "struct Fake {\n};\nlong Sum(int x, int y) {\n}\nint Of(bool yes) {\n}\n"}
        files["c.cc"] = files["a.cc"]
        found = list(rules.shared_name_complaints(cmake, files.__getitem__))
        self.assertEqual(sorted(found), ["a_test: Fake is defined in a.cc and in b.cc",
                                         "a_test: Sum is defined in a.cc and in b.cc"])


class Branches(unittest.TestCase):
    def test_calls_that_may_throw_are_no_branches(self):
        def ways(*counts_and_throws):
            return [{"count": count, "throw": throw} for count, throw in counts_and_throws]
        call, condition = [(5, False), (0, True)], [(3, False), (0, False)]
        self.assertEqual(branch_coverage.decisions(ways(*call)), [])
        self.assertEqual(branch_coverage.decisions(ways(*condition, *call, *condition)), [3, 0, 3, 0])
        self.assertEqual(branch_coverage.decisions(ways(*reversed(call), (1, False), *condition)), [1, 3, 0])


class Alone(unittest.TestCase):
    def test_a_file_that_needs_another_is_found(self):
        flags = ["-std=c++20", "-I.", "-I/"]
        found = list(rules.alone_complaints("c++", flags, ["core/base/glob.h", "no/such/header.h"], 2))
        self.assertEqual(len(found), 1)
        self.assertIn("no/such/header.h: does not compile alone", found[0])

    def test_a_header_that_its_source_includes_first_is_compiled_by_the_build(self):
        sources = {"a.cc": '#include "a.h"\n#include "b.h"\n', "b.cc": '#include "a.h"\n#include "b.h"\n'}
        compiled = [header for header in ("a.h", "b.h", "c.h") if rules.is_compiled_first(header, sources)]
        self.assertEqual(compiled, ["a.h"])


if __name__ == "__main__":
    unittest.main()
