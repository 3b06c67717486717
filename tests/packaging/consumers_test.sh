#!/usr/bin/env bash
# Installs into an empty prefix, then builds and runs a program that uses the libraries: by find_package, by pkg-config,
# and by add_subdirectory. Packs the .deb files, too, and configures what the container image is built from.
#   consumers_test.sh BUILD_FOLDER COMPILER
set -euo pipefail
build=$1 compiler=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "$*" >&2 && exit 1; }
expect() {
  local answer
  answer=$(cd "$work" && "$1")
  [[ $answer == "found 1 of 1; "* ]] || { echo "$1 answered \"$answer\"" >&2 && exit 1; }
}

echo "== install"
cmake --install "$build" --prefix "$work/prefix" > /dev/null
"$work/prefix/bin/bitsieve" version
test -s "$work/prefix/share/man/man1/bitsieve.1"
test -s "$work/prefix/share/zsh/site-functions/_bitsieve"

echo "== find_package"
cmake -G Ninja -S "$here/consumer" -B "$work/found" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$work/prefix" > /dev/null
cmake --build "$work/found" > /dev/null
expect "$work/found/consumer"
expect "$work/found/embedded"

echo "== pkg-config"
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name bitsieve.pc)")
export PKG_CONFIG_PATH
read -ra flags <<< "$(pkg-config --cflags --libs bitsieve)"
"$compiler" -std=c++20 -o "$work/configured" "$here/consumer/consumer.cc" "${flags[@]}"
expect "$work/configured"
"$compiler" -std=c++20 -o "$work/embedded" "$here/consumer/embedded.cc" "${flags[@]}"
expect "$work/embedded"

read -ra c_flags <<< "$(pkg-config --cflags --libs bitsieve-c)"
cc -std=c11 -Wall -Wextra -Werror -o "$work/in_c" "$here/consumer/in_c.c" "${c_flags[@]}" \
  "-Wl,-rpath,$(pkg-config --variable=libdir bitsieve-c)"
expect "$work/in_c"

echo "== add_subdirectory"
cmake -G Ninja -S "$here/consumer" -B "$work/within" -DCMAKE_CXX_COMPILER="$compiler" -DBITSIEVE_SOURCE="$root" \
  -DCMAKE_CXX_FLAGS=-Wunused-parameter -DCMAKE_UNITY_BUILD=ON > "$work/within.log"
if grep -E "spdlog|CLI11|nlohmann" "$work/within.log"; then
  echo "the libraries alone need none of these" >&2
  exit 1
fi
cmake --build "$work/within" > /dev/null
expect "$work/within/consumer"
expect "$work/within/embedded"

echo "== uninstall, as docs/faq.md has it"
xargs rm < "$build/install_manifest.txt"
[[ -z $(find "$work/prefix" -not -type d) ]] || fail "files are left of an installation"

echo "== the image is built from all that it needs"
mkdir "$work/context"
grep '^!' "$root/.dockerignore" | cut -c2- | (cd "$root" && xargs cp -r --parents -t "$work/context")
(cd "$work/context" && cmake --preset server > /dev/null)

echo "== packages"
rm -rf "$build/packages"
mkdir "$work/elsewhere"
(cd "$work/elsewhere" && cpack --config "$build/CPackConfig.cmake" > /dev/null)
[[ -z $(ls -A "$work/elsewhere") ]] || fail "cpack left files where it was run"
for package in bitsieve bitsieve-module libbitsieve1 python3-bitsieve libbitsieve-dev; do
  file=$(find "$build/packages" -maxdepth 1 -name "${package}_*.deb")
  dpkg-deb --contents "$file" | awk '{print $6}' > "$work/$package.contents"
  grep -q "^./usr/share/doc/$package/copyright$" "$work/$package.contents" || fail "$package has no copyright file"
done
grep -q '^./usr/bin/bitsieve$' "$work/bitsieve.contents"
grep -q '^./usr/share/zsh/vendor-completions/_bitsieve$' "$work/bitsieve.contents" || fail "zsh will not complete"
dpkg-deb -x "$(echo "$build"/packages/bitsieve_*.deb)" "$work/unpacked"
/usr/bin/python3 "$here/links.py" "$work/unpacked/usr/share/doc/bitsieve"
unit=$(find "$work/unpacked" -name bitsieve.service)
grep -o 'file://[^ ]*' "$unit" | while read -r document; do
  [[ -s $work/unpacked${document#file://} ]] || fail "the unit names $document, which the package lacks"
done
grep -q '^./usr/share/bash-completion/completions/bitsieve$' "$work/bitsieve.contents"
grep -q 'BitsieveConfig.cmake$' "$work/libbitsieve-dev.contents"
grep -q '^./usr/include/bitsieve.h$' "$work/libbitsieve-dev.contents"
grep -q '/libbitsieve.so$' "$work/libbitsieve-dev.contents"
grep -q '/libbitsieve.so.1$' "$work/libbitsieve1.contents"
dpkg-deb -x "$(echo "$build"/packages/python3-bitsieve_*.deb)" "$work/python"
diff -r -x __pycache__ "$root/clients/python/bitsieve" "$work/python/usr/lib/python3/dist-packages/bitsieve"
grep -q '^./usr/lib/bitsieve/bitsieve.so$' "$work/bitsieve-module.contents"

echo "== the image has the libraries that the server needs"
sed -e ':line' -e '/\\$/{N;s/\\\n//;b line' -e '}' "$root/docker/Dockerfile" > "$work/Dockerfile"  # one command a line
dpkg-deb -f "$(echo "$build"/packages/bitsieve_*.deb)" Depends | tr -d ' ' | tr ',' '\n' |
  sed -n 's/^\(lib[^(]*\).*/\1/p' | sed 's/-fmt9$//' | grep -vxE 'libc6|libgcc-s1|libstdc[+][+]6|libfmt9' |
  while read -r library; do
    grep -q "install.* $library\b" "$work/Dockerfile" || { echo "the image lacks $library" >&2 && exit 1; }
  done
