# Sourced by test.sh: starts the database servers that are installed, on private
# ports in temporary folders, and ends them by pid. Sets PATRA_TEST_MYSQL and
# PATRA_TEST_MARIADB to the address of a server whose user may create databases.
SERVER_PIDS=()
SERVER_DIRS=()

free_port() { python3 - <<'P' 2>/dev/null || echo $((20000 + RANDOM % 20000))
import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])
P
}

wait_port() { # port
  for _ in $(seq 1 900); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return 0; fi
    sleep 0.1
  done
  return 1
}

# No test claims that data survives a power cut, so nothing waits for the disk;
# and nobody measures the servers while they run.
CHEAP=(--skip-log-bin --innodb-flush-method=nosync --innodb-doublewrite=0 --performance-schema=OFF)

# A server that is installed and does not start is a failure (2), one that is not
# installed is left out (1): a suite that silently asks one engine less proves less.
start_mysql() {
  local root=${PATRA_MYSQL_ROOT:-/opt/patra-mysql} port data
  [ -x "$root/usr/sbin/mysqld" ] && [ "$(id -u)" = 0 ] || return 1
  data=$(mktemp -d "$root/patra-data.XXXXXX"); SERVER_DIRS+=("$data")
  # For each table that is made or dropped it waits for the disk, whatever it is told of
  # flushing. Its folder has to be within its root, so memory is brought there.
  [ -z "${MEMORY_DIR:-}" ] || mount -t tmpfs -o size=50% patra-test "$data" 2>/dev/null || true
  local in="/${data##*/}"
  chroot "$root" mysqld --no-defaults --user=root --initialize-insecure "${CHEAP[@]}" --datadir="$in" --tmpdir=/tmp >"$data.log" 2>&1 || { cat "$data.log"; return 2; }
  port=$(free_port)
  chroot "$root" mysqld --no-defaults --user=root --datadir="$in" --tmpdir=/tmp --secure-file-priv= --mysqlx=OFF "${CHEAP[@]}" \
    --innodb-redo-log-capacity=64M --bind-address=127.0.0.1 --port="$port" --socket="$in/s" --pid-file="$in/p" >>"$data.log" 2>&1 &
  SERVER_PIDS+=($!)
  wait_port "$port" || { cat "$data.log"; return 2; }
  export PATRA_TEST_MYSQL="mysql://root@127.0.0.1:$port"
}

# A MariaDB that starts removes the temporary tables it finds in its folder for them,
# which must therefore be its own.
start_mariadb() {
  local bin data port
  bin=$(command -v mariadbd || echo /usr/sbin/mariadbd)
  [ -x "$bin" ] || return 1
  data=$(mktemp -d "${TMPDIR:-/tmp}/patra-mariadb.XXXXXX"); SERVER_DIRS+=("$data")
  local user=()
  [ "$(id -u)" = 0 ] && user=(--user=root)
  mariadb-install-db --no-defaults "${user[@]}" --datadir="$data" --auth-root-authentication-method=normal --skip-test-db --tmpdir="$data" "${CHEAP[@]}" >"$data.log" 2>&1 || { cat "$data.log"; return 2; }
  port=$(free_port)
  "$bin" --no-defaults "${user[@]}" --datadir="$data" "${CHEAP[@]}" --sync-frm=0 --loose-innodb-log-file-buffering=ON --innodb-log-file-size=64M \
    --tmpdir="$data" --bind-address=127.0.0.1 --port="$port" --socket="$data/s" --pid-file="$data/p" >>"$data.log" 2>&1 &
  SERVER_PIDS+=($!)
  wait_port "$port" || { cat "$data.log"; return 2; }
  export PATRA_TEST_MARIADB="mysql://root@127.0.0.1:$port"
}

# start_server ACT NAME: starts a server, says that it is left out if it is not
# installed, and ends here if it is installed and does not start.
start_server() {
  "$1"
  case $? in
    1) echo "skipped: $2 is not installed (make test-deps)" ;;
    2) echo "$2 is installed and does not start; its log is above"; exit 1 ;;
  esac
}

stop_servers() {
  [ ${#SERVER_PIDS[@]} -gt 0 ] && kill "${SERVER_PIDS[@]}" 2>/dev/null && wait "${SERVER_PIDS[@]}" 2>/dev/null
  for d in "${SERVER_DIRS[@]}"; do
    umount -l "$d" 2>/dev/null # who was killed may not be gone yet
    rm -rf "$d" "$d.log"
  done
  return 0
}
