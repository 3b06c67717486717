# Writes a source file that holds the files of the dashboard, as dashboard_files.h declares them.
#   cmake -DOUTPUT=dashboard_files.cc -DFILES=PATH=FILE;... -P embed.cmake
set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")

set(contents "")
set(rows "")
set(number 0)
foreach(entry IN LISTS FILES)
  string(REGEX MATCH "^([^=]*)=(.*)$" matched "${entry}")
  set(path ${CMAKE_MATCH_1})
  set(file ${CMAKE_MATCH_2})
  string(REGEX MATCH "(css|js|svg)$" suffix "${path}")
  if(path STREQUAL "/")
    set(suffix html)
  endif()
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND contents "constexpr unsigned char k${number}[] = {${bytes}};\n")
  string(APPEND rows "    {\"${path}\", \"${type_${suffix}}\", Text(k${number})},\n")
  math(EXPR number "${number} + 1")
endforeach()

if(rows)
  string(CONCAT body
    "namespace {\n\n"
    "template <size_t kSize>\n"
    "std::string_view Text(const unsigned char (&bytes)[kSize]) {\n"
    "  return {reinterpret_cast<const char*>(bytes), kSize};\n}\n\n"
    "${contents}\n"
    "const DashboardFile kFiles[] = {\n${rows}};\n\n}  // namespace\n\n"
    "std::span<const DashboardFile> DashboardFiles() { return kFiles; }\n")
else()
  set(body "std::span<const DashboardFile> DashboardFiles() { return {}; }\n")
endif()
file(WRITE ${OUTPUT}
  "#include \"server/http/dashboard_files.h\"\n\n#include <cstddef>\n\nnamespace bitsieve::server {\n${body}\n}"
  "  // namespace bitsieve::server\n")
