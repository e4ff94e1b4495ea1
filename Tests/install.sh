# Finds what is missing here, and installs it. It is read by Tests/run, which sets `installs`, whether
# anything may be installed, and `selected`, the stages that need it; and has `is_in`.

# Prints the version as one number: 602 for 6.2, 603 for 6.3.1.
swift_version() {
  swift --version 2>&1 | sed -n 's/.*Swift version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p' \
    | { read -r major minor && echo $((major * 100 + minor)); }
}

# can_build_with HEADER LIBRARY: whether a C program that uses them can be built here.
can_build_with() {
  local compiler
  for compiler in clang cc gcc; do
    command -v "$compiler" >/dev/null || continue
    printf '#include <%s>\nint main(void) { return 0; }\n' "$1" \
      | "$compiler" -x c - "-l$2" -o .build/can-build 2>/dev/null || return 1
    rm -f .build/can-build
    return 0
  done
  [ -f "/usr/include/$1" ]
}

# Prints one line for each thing that is missing, with its names in Debian, Fedora and Homebrew.
missing() {
  can_build_with sqlite3.h sqlite3 || echo "libsqlite3-dev sqlite-devel sqlite"
}

# Prints the commands that install things with these names in Debian, Fedora and Homebrew, one a
# line. Prints nothing if none of their package managers is here.
commands_to_install() {
  if command -v apt-get >/dev/null; then
    local patience="-o Acquire::Retries=3 -o Acquire::http::Timeout=30"
    echo "apt-get $patience update"
    echo "env DEBIAN_FRONTEND=noninteractive apt-get $patience install -y --no-install-recommends $1"
  elif command -v dnf >/dev/null; then
    echo "dnf install -y $2"
  elif command -v brew >/dev/null; then
    echo "brew install $3"
  fi
}

# If something cannot be installed here, it prints the commands to type, and the exit code is 2.
install_missing() {
  mkdir -p .build
  local lines debian fedora homebrew commands
  lines=$(missing)
  if [ -z "$lines" ]; then
    echo "Nothing is missing."
    return 0
  fi
  debian=$(printf '%s\n' "$lines" | cut -d' ' -f1 | tr '\n' ' ')
  fedora=$(printf '%s\n' "$lines" | cut -d' ' -f2 | tr '\n' ' ')
  homebrew=$(printf '%s\n' "$lines" | cut -d' ' -f3 | tr '\n' ' ')
  commands=$(commands_to_install "${debian% }" "${fedora% }" "${homebrew% }")
  if [ -z "$commands" ]; then
    echo "Missing: SQLite's headers and library. Only apt-get, dnf and brew are known here."
    echo "Please install what your system calls ${debian% } or ${fedora% }, and come again."
    return 2
  fi
  install "SQLite's headers and library" "$commands" || return 2
  [ -z "$(missing)" ] && return 0
  echo "They are still missing, though they were installed. Can a C program be built here?"
  return 2
}

# install WHAT COMMANDS: says what is missing, and runs the commands, one a line. Fails if it may not
# or cannot, after it has printed the commands to type.
install() {
  local sudo="" command
  # Never asks for a password, because the run may be unattended. Homebrew must be run by its user.
  [ "$(id -u)" -eq 0 ] || [ "${2#brew}" != "$2" ] || sudo="sudo -n "
  if [ "$installs" = no ]; then
    echo "Missing: $1. To install it, type:"
    printf '%s\n' "$2" | sed "s/^/    ${sudo:+sudo }/"
    return 1
  fi
  echo "Missing: $1. This installs it now:"
  printf '%s\n' "$2" | sed "s/^/    $sudo/"
  while read -r command; do
    echo "+ $sudo$command"
    # shellcheck disable=SC2086  # Commands are words.
    $sudo$command </dev/null && continue
    echo "It could not be installed from here. Please type:"
    printf '%s\n' "$2" | sed "s/^/    ${sudo:+sudo }/"
    return 1
  done <<END
$2
END
}

# Installs Python's virtual environments. Called only where there is apt-get.
install_environments() {
  python3 -c 'import ensurepip' 2>/dev/null \
    || install "Python's virtual environments" "$(commands_to_install python3-venv)" \
    || echo "So what needs packages of Python will not be tested."
}

# Installs what drives the playground, where there is apt-get. Without it the playground is built and
# not driven, and the last lines of the run say so.
install_browser() {
  is_in playground "$selected" && command -v apt-get >/dev/null || return 0
  local names=""
  install_environments
  command -v chromium >/dev/null || names="$names chromium"
  command -v chromedriver >/dev/null || names="$names chromium-driver"
  [ -z "$names" ] || install "what drives the playground in a browser" \
    "$(commands_to_install "${names# }")" || echo "So the playground will not be driven."
}

# Installs etcd, where there is apt-get. Without it, what needs a real one is not checked, and the last
# lines of the run say so. The stage has the program's name, so `command -v` would find the stage.
install_etcd() {
  is_in etcd "$selected" || is_in sockets "$selected" || is_in sanitizer-sockets "$selected" \
    || return 0
  command -v apt-get >/dev/null || return 0
  type -P etcd >/dev/null || install etcd "$(commands_to_install etcd-server)" \
    || echo "So nothing will be tried with a real etcd."
}

# Installs GNU parallel, where there is apt-get, and what Ray and the benchmarks' peers need to be
# installed. Without them the stages try the others, and the last lines of the run say so.
install_engines() {
  command -v apt-get >/dev/null || return 0
  ! is_in campaign "$selected" && ! is_in benchmarks "$selected" || install_environments
  ! is_in campaign "$selected" || command -v parallel >/dev/null \
    || install "GNU parallel" "$(commands_to_install parallel)" \
    || echo "So no campaign will be run on GNU parallel."
}
