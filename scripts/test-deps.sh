#!/usr/bin/env bash
# Installs what the full test suite runs against: MariaDB, Prometheus, Chromium and systemd's tools from the distribution, a C compiler for
# the race detector, a MySQL 9 server, Schemathesis, axe and readers of references in folders of their own. Needs root on Debian. None of them is begun:
# the tests begin their own.
set -euo pipefail
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "test-deps: needs root on Debian; the suites that need a server will be skipped" >&2
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
need=()
command -v mariadbd >/dev/null || [ -x /usr/sbin/mariadbd ] || need+=(mariadb-server)
command -v debootstrap >/dev/null || need+=(debootstrap)
command -v gcc >/dev/null || need+=(gcc libc6-dev) # the race detector links with it
python3 -c 'import ensurepip, venv' 2>/dev/null || need+=(python3-venv) # for Schemathesis
command -v systemd-analyze >/dev/null || need+=(systemd) # looks at the unit that patra prints
command -v ris2xml >/dev/null || need+=(bibutils) # reads what patra exports, as the readers below do
command -v npm >/dev/null || need+=(nodejs npm)
command -v chromium >/dev/null || need+=(chromium fonts-dejavu-core) # shows the console
if ! command -v promtool >/dev/null; then
  need+=(prometheus)
  systemctl mask prometheus >/dev/null 2>&1 || true # so that the machine does not begin it
fi
if [ ${#need[@]} -gt 0 ]; then
  if [ ! -e /usr/sbin/policy-rc.d ]; then # packages begin no service while this says so
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
    chmod +x /usr/sbin/policy-rc.d
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
  fi
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${need[@]}" >/dev/null
fi
MYSQL_ROOT=${PATRA_MYSQL_ROOT:-/opt/patra-mysql}
if [ ! -x "$MYSQL_ROOT/usr/sbin/mysqld" ]; then
  rm -rf "$MYSQL_ROOT"
  if ! debootstrap --variant=minbase --include=mysql-server-core sid "$MYSQL_ROOT" >/tmp/patra-debootstrap.log 2>&1; then
    tail -5 /tmp/patra-debootstrap.log >&2
    echo "test-deps: no MySQL 9; MariaDB alone serves the MySQL suites" >&2
    rm -rf "$MYSQL_ROOT"
  fi
fi
# It reads the OpenAPI document and tries what it declares. The version is fixed, since another one tries other things.
SCHEMATHESIS=${PATRA_SCHEMATHESIS:-/opt/patra-schemathesis}
SCHEMATHESIS_VERSION=4.32.5
if ! "$SCHEMATHESIS/bin/st" --version 2>/dev/null | grep -q " $SCHEMATHESIS_VERSION\$"; then
  rm -rf "$SCHEMATHESIS"
  if ! { python3 -m venv "$SCHEMATHESIS" && "$SCHEMATHESIS/bin/pip" install -q "schemathesis==$SCHEMATHESIS_VERSION"; } >/tmp/patra-schemathesis.log 2>&1; then
    tail -5 /tmp/patra-schemathesis.log >&2
    echo "test-deps: no Schemathesis; the API is held against its document by our own tests alone" >&2
    rm -rf "$SCHEMATHESIS"
  fi
fi
# Programs that read references, to hold exports against. The old rispy is what ASReview uses, and reads otherwise than the new one.
READERS=${PATRA_READERS:-/opt/patra-readers}
READERS_PY="rispy==0.10.0 bibtexparser==2.1.0 pyarrow==26.0.1 nbib==0.3.2"
READERS_OLD="rispy==0.9.0"
READERS_JS="@citation-js/core@0.8.2 @citation-js/plugin-ris@0.8.2 @citation-js/plugin-bibtex@0.8.2"
if [ "$(cat "$READERS/ready" 2>/dev/null)" != "$READERS_PY $READERS_OLD $READERS_JS" ]; then
  rm -rf "$READERS"
  mkdir -p "$READERS/js"
  # shellcheck disable=SC2086 # the lists are words
  if { python3 -m venv "$READERS/py" && "$READERS/py/bin/pip" install -q $READERS_PY &&
    "$READERS/py/bin/pip" install -q --no-deps --target "$READERS/rispy09" $READERS_OLD &&
    npm install --prefix "$READERS/js" --no-audit --no-fund --no-save --loglevel=error $READERS_JS; } >/tmp/patra-readers.log 2>&1; then
    echo "$READERS_PY $READERS_OLD $READERS_JS" >"$READERS/ready"
  else
    tail -5 /tmp/patra-readers.log >&2
    echo "test-deps: no readers of references; exports are held against our own files alone" >&2
    rm -rf "$READERS"
  fi
fi
# It looks at the pages of the console for what keeps people out.
AXE=${PATRA_AXE:-/opt/patra-axe}
AXE_VERSION=4.14.0
if ! grep -q "\"version\": \"$AXE_VERSION\"" "$AXE/node_modules/axe-core/package.json" 2>/dev/null; then
  rm -rf "$AXE"
  mkdir -p "$AXE"
  if ! npm install --prefix "$AXE" --no-audit --no-fund --no-save --loglevel=error "axe-core@$AXE_VERSION" >/tmp/patra-axe.log 2>&1; then
    tail -5 /tmp/patra-axe.log >&2
    echo "test-deps: no axe; nobody looks whether pages of the console keep people out" >&2
    rm -rf "$AXE"
  fi
fi
