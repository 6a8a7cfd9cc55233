#!/bin/bash
# Installs a Debian package, starts the service as its unit says, upgrades, removes, installs again and purges it. Arguments:
# the package, a later one, and a free port. It runs inside a copy of the system that is thrown away (see
# xtask/src/dist/install_test.rs): never run it by hand.
set -euo pipefail
old=$1 new=$2 port=$3
unit=/usr/lib/systemd/system/rowmill.service
data=/var/lib/rowmill
settings=/etc/rowmill/rowmill.env
export DEBIAN_FRONTEND=noninteractive
server=

fail() {
    echo "FAILED: $*" >&2
    [ ! -e /tmp/server.log ] || tail -n 20 /tmp/server.log >&2
    exit 1
}

step() { echo "--- $*"; }

is() { # what, expected, found
    [ "$2" = "$3" ] || fail "$1 is '$3', not '$2'"
}

install() {
    dpkg --install --force-unsafe-io "$1" >/tmp/dpkg.log 2>&1 || { cat /tmp/dpkg.log >&2; fail "dpkg cannot install $1"; }
    is "the installed version" "$(dpkg-deb --field "$1" Version)" "$(dpkg-query --showformat '${Version}' --show rowmill)"
    is "dpkg's view of it" "install ok installed" "$(dpkg-query --showformat '${Status}' --show rowmill)"
}

of_unit() { sed -n "s/^$1=//p" "$unit"; }

# As systemd would: the unit's variables, then those of the settings file, the unit's user, folder, mask and capabilities.
start() {
    (
        for pair in $(of_unit Environment); do export "${pair?}"; done
        set -a
        # shellcheck source=/dev/null
        . "$settings"
        set +a
        cd "$(of_unit WorkingDirectory)"
        umask "$(of_unit UMask)"
        # shellcheck disable=SC2046
        exec setpriv --reuid "$(of_unit User)" --regid "$(of_unit Group)" --init-groups --no-new-privs \
            --bounding-set=-all --inh-caps=-all $(of_unit ExecStart)
    ) >/tmp/server.log 2>&1 &
    server=$!
    for _ in $(seq 200); do
        kill -0 "$server" 2>/dev/null || fail "the server ended"
        if rowmill health --ready --listen "127.0.0.1:$port" 2>/dev/null; then return; fi
        sleep 0.1
    done
    fail "the server is not ready"
}

stop() {
    kill -TERM "$server"
    wait "$server" || fail "the server ended with status $?"
    server=
}

as_user() { setpriv --reuid rowmill --regid rowmill --init-groups env --chdir=/ "$@"; }

slugs() { as_user rowmill team list --data-dir "$data" | grep -o '"slug":"[^"]*"' | sort | tr '\n' ' '; }

step "a package that was here before is removed"
dpkg --purge rowmill >/dev/null 2>&1 || true
rm -rf "$data" /etc/rowmill

[ "$(dpkg-deb --field "$old" Version)" != "$(dpkg-deb --field "$new" Version)" ] || fail "nothing to upgrade to"

step "install"
install "$old"
is "the user's folder and shell" "$data:/usr/sbin/nologin" "$(getent passwd rowmill | cut -d: -f6-)"
is "the data folder" "700 rowmill rowmill" "$(stat -c '%a %U %G' "$data")"
is "the settings" "600 root root" "$(stat -c '%a %U %G' "$settings")"
is "the binary" "755 root root" "$(stat -c '%a %U %G' /usr/bin/rowmill)"
is "what starts it with the machine" "$unit" "$(readlink -f /etc/systemd/system/multi-user.target.wants/rowmill.service)"
rowmill licenses | head -n 1 | grep -q "Third-party software" || fail "no licences"
zcat /usr/share/doc/rowmill/third-party-notices.txt.gz | cmp - <(rowmill licenses) || fail "other notices than the binary's"
for file in man/man1/rowmill.1.gz man/man1/rowmill-serve.1.gz bash-completion/completions/rowmill \
    zsh/vendor-completions/_rowmill fish/vendor_completions.d/rowmill.fish doc/rowmill/copyright doc/rowmill/rowmill.cdx.json.gz; do
    [ -s "/usr/share/$file" ] || fail "/usr/share/$file is missing"
done
is "changed files" "" "$(dpkg --verify rowmill)"
if command -v systemd-analyze >/dev/null; then
    systemd-analyze verify --man=no "$unit" || fail "systemd-analyze finds faults in the unit"
fi

step "start"
echo "ROWMILL_LISTEN=127.0.0.1:$port" >>"$settings"
start
is "the server's user" "rowmill" "$(stat -c %U "/proc/$server")"
is "the first key" "600 rowmill" "$(stat -c '%a %U' "$data/first-key")"
is "files that others can read" "" "$(find "$data" -perm /077)"
as_user rowmill team create --slug kept --data-dir "$data" >/dev/null
before=$(slugs)
key=$(head -n 1 "$data/first-key")

step "upgrade while the server runs"
install "$new"
grep -q "^ROWMILL_LISTEN=127.0.0.1:$port$" "$settings" || fail "the upgrade overwrote the settings"
rowmill health --listen "127.0.0.1:$port" || fail "the old server did not survive the upgrade"
stop
start
is "the teams after the upgrade" "$before" "$(slugs)"
is "the first key after the upgrade" "$key" "$(head -n 1 "$data/first-key")"
stop

step "remove"
dpkg --remove rowmill >/dev/null
[ ! -e /usr/bin/rowmill ] || fail "the binary is still there"
[ ! -e "$unit" ] || fail "the unit is still there"
[ -s "$data/rowmill.db" ] || fail "the data is gone"
[ -s "$settings" ] || fail "the settings are gone"

step "install again: the data and the settings are found"
install "$new"
start
is "the teams after the return" "$before" "$(slugs)"
stop

step "purge: the settings go, the data stays"
dpkg --purge rowmill >/tmp/dpkg.log 2>&1
grep -q "still in $data" /tmp/dpkg.log || fail "nobody was told of the data: $(cat /tmp/dpkg.log)"
[ ! -e "$settings" ] || fail "the settings are still there"
[ -s "$data/rowmill.db" ] || fail "the data is gone"
[ -z "$(find /etc/systemd /var/lib/systemd -name 'rowmill.service*' 2>/dev/null)" ] || fail "the service left something behind"
is "dpkg's view of it" "" "$(dpkg-query --showformat '${Status}' --show rowmill 2>/dev/null || true)"
step "all is as it should be"
