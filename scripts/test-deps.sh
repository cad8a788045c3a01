#!/usr/bin/env bash
# Installs what the full test suite runs against: MariaDB, Prometheus and systemd's tools from the distribution, a C compiler for
# the race detector, a MySQL 9 server and Schemathesis in folders of their own. Needs root on Debian. None of them is begun:
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
