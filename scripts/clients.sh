#!/bin/sh
# Installs clients that others wrote into target/clients, where our tests let them speak to the fake
# forge: hosts without a published description have no other witness. Pinned by version, and done
# once.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
clients="$root/target/clients"
wanted='python-gitlab==8.6.0 gitcode-api==1.3.0'

if [ "$(cat "$clients/.wanted" 2>/dev/null)" = "$wanted" ]; then
    echo "clients: $wanted is there"
    exit 0
fi
echo "clients: installing $wanted"
command -v python3 >/dev/null || {
    echo "clients: python3 is needed" >&2
    exit 3
}
rm -rf "$clients"
python3 -m venv "$clients"
# shellcheck disable=SC2086 # Each word is a package.
"$clients/bin/pip" install --quiet --disable-pip-version-check --no-input $wanted
echo "$wanted" >"$clients/.wanted"
