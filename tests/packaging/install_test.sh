#!/usr/bin/env bash
# Installs the Debian package in a fresh Debian, runs the server as its unit says, upgrades, removes and purges it.
#   install_test.sh BUILD_FOLDER
# A Debian with what the package depends on is made once, and kept as BUILD_FOLDER/debian-….tar. Nothing outside of a
# directory of the test's own changes, and the network is the test's own. Needs root; without, it is skipped.
set -euo pipefail
build=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)

if [[ -z ${WORK:-} ]]; then
  if [[ $(id -u) -ne 0 ]]; then
    echo "skipped: only root can install packages in another root"
    exit 77
  fi
  WORK=$(mktemp -d)
  trap 'rm -rf --one-file-system "$WORK"' EXIT
  (cd "$WORK" && cpack --config "$build/CPackConfig.cmake" -D "CPACK_COMPONENTS_ALL=server;service" \
    -B "$WORK/packages" > /dev/null 2>&1)
  depends=$(dpkg-deb -f "$WORK"/packages/bitsieve_*.deb Depends | sed 's/ *([^)]*)//g; s/, /,/g')
  base=$build/debian-$(md5sum <<< "$depends" | cut -c1-8)
  if [[ ! -s $base.tar ]]; then
    echo "== a fresh Debian with $depends"
    repository=$("$here/../../scripts/packages" --repository)
    mmdebstrap --quiet --variant=minbase --include="$depends,systemd,logrotate,redis-tools" bookworm "$base.new.tar" \
      "deb $repository main"
    mv "$base.new.tar" "$base.tar"
  fi
  mkdir "$WORK/root"
  tar -C "$WORK/root" -xf "$base.tar"
  # In a chroot whose root is no mount, unshare cannot keep mounts to itself. They stay where they are if none is shared.
  propagation=private
  if ! mountpoint -q / && ! grep -q ' shared:' /proc/self/mountinfo; then propagation=unchanged; fi
  WORK=$WORK unshare --propagation "$propagation" --mount-proc --pid --net --fork --kill-child "$0" "$build"
  exit
fi

work=$WORK
root=$work/root
ip link set lo up
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"

fail() { echo "$*" >&2 && exit 1; }
in_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
expect() { # what, the value, the wanted value
  [[ $2 == "$3" ]] || fail "$1: \"$2\", not \"$3\""
}

echo "== a version before this one, with another default configuration"
package=$(find "$work/packages" -maxdepth 1 -name 'bitsieve_*.deb')
dpkg-deb -R "$package" "$work/former"
sed -i 's/^Version: .*/Version: 0.0.1/' "$work/former/DEBIAN/control"
sed -i 's/"port": 7379/"port": 7379, "save-interval": 60/' "$work/former/etc/bitsieve/bitsieve.json"
cp "$package" "$root/new.deb"
dpkg-deb --root-owner-group -b "$work/former" "$root/former.deb" > /dev/null
mkdir -p "$root/run/notify"
chmod 0777 "$root/run/notify"

pid=
start() {
  rm -f "$work/notified" "$root/run/notify/socket"
  /usr/bin/python3 "$here/notified.py" "$root/run/notify/socket" "$work/notified" &
  while [[ ! -S $root/run/notify/socket ]]; do sleep 0.05; done
  /usr/bin/python3 "$here/as_service.py" "$root" /usr/lib/systemd/system/bitsieve.service /run/notify/socket \
    > "$work/journal" 2>&1 &
  pid=$!
  await READY=1
}
await() { # a line that the server sends to the service manager
  for _ in $(seq 600); do
    if grep -qsx "$1" "$work/notified"; then return; fi
    kill -0 "$pid" || break
    sleep 0.1
  done
  cat "$work/journal" >&2
  fail "the server did not send $1"
}
stop() {
  kill "$pid"
  await STOPPING=1
  wait "$pid" || fail "the server stopped with status $?: $(cat "$work/journal")"
}
ask() { in_root redis-cli -p 7379 "$@"; }

echo "== install"
in_root dpkg -i /former.deb > "$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log" >&2 && exit 1; }
expect "the user" "$(in_root getent passwd bitsieve | cut -d: -f1,6,7)" bitsieve:/var/lib/bitsieve:/usr/sbin/nologin
expect enabled "$(in_root systemctl is-enabled bitsieve)" enabled
number=$(in_root id -u bitsieve)
group=$(in_root id -g bitsieve)
for directory in /var/lib/bitsieve /var/log/bitsieve; do
  expect "$directory" "$(stat -c '%u:%g %a' "$root$directory")" "$number:$group 750"
done
expect /etc/bitsieve "$(stat -c '%u:%g %a' "$root/etc/bitsieve")" "0:$group 750"
expect /etc/bitsieve/bitsieve.json "$(stat -c '%u:%g %a' "$root/etc/bitsieve/bitsieve.json")" "0:$group 640"
[[ -z $(find "$root/usr/bin/bitsieve" -perm /6022) ]] || fail "others may write the program, or it runs as another"

echo "== the unit"
in_root systemd-analyze --man=no verify bitsieve.service
in_root systemd-analyze --no-pager security --offline=true --threshold=20 bitsieve.service > "$work/exposure" ||
  { cat "$work/exposure" >&2 && exit 1; }
tail -1 "$work/exposure"

echo "== run as the unit says"
echo BITSIEVE_LOGFILE=/var/log/bitsieve/bitsieve.log > "$root/etc/default/bitsieve"
start
expect "the user it runs as" "$(stat -c %u "/proc/$pid")" "$number"
expect BF.ADD "$(ask BF.ADD seen alice)" 1
kill -HUP "$pid"
await RELOADING=1
in_root logrotate --force /etc/logrotate.d/bitsieve
expect BF.EXISTS "$(ask BF.EXISTS seen alice)" 1
stop
grep -q "Ready after" "$root/var/log/bitsieve/bitsieve.log.1" || fail "the rotated log lacks what was logged before"
grep -q "Stopped in" "$root/var/log/bitsieve/bitsieve.log" || fail "the new log lacks what was logged since"

echo "== upgrade"
sed -i 's/"port": 7379/"port": 7379, "maxclients": 5000/' "$root/etc/bitsieve/bitsieve.json"
in_root dpkg --force-confold -i /new.deb > "$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log" >&2 && exit 1; }
start
expect "what was added before the upgrade" "$(ask BF.EXISTS seen alice)" 1
expect "what was configured" "$(ask CONFIG GET maxclients | tail -1)" 5000
stop

echo "== remove and purge"
in_root dpkg -r bitsieve > /dev/null
[[ ! -e $root/usr/bin/bitsieve ]] || fail "the program is still there"
[[ -n $(ls "$root/var/lib/bitsieve") ]] || fail "a removal lost the data"
grep -q 5000 "$root/etc/bitsieve/bitsieve.json" || fail "a removal lost the configuration"
in_root dpkg -P bitsieve > /dev/null
for path in /var/lib/bitsieve /var/log/bitsieve /etc/bitsieve /etc/logrotate.d/bitsieve \
  /etc/systemd/system/multi-user.target.wants/bitsieve.service /etc/systemd/system/bitsieve.service; do
  [[ ! -e $root$path && ! -L $root$path ]] || fail "$path is left"
done
