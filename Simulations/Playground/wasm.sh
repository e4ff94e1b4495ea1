# How our modules become WebAssembly, with the compiler that the package is built with. It is read by
# Tests/walls and by Simulations/Playground/build, which set `build`, a folder, and `fail`.

# Where the modules are; Simulations/Playground/build sets another folder.
sources=${sources:-Sources}

# Prints the Swift files of folders, in the same order everywhere, without those that tutorials show.
# None of our paths has a space in it.
swift_files() { find "$@" -name '*.swift' -not -path '*.docc/*' | LC_ALL=C sort; }

# A file that begins with `#if !hasFeature(Embedded)` and ends with its `#endif` is left out of the
# walls. It is for the native side only, and may import what it likes.
is_native_only() {
  awk '
    /^[[:space:]]*(\/\/.*)?$/ { next }               # Blank lines and comments.
    { lines += 1; last = $0 }
    lines == 1 && !/^#if !hasFeature\(Embedded\)[[:space:]]*$/ { exit 1 }
    /^[[:space:]]*#if/ { depth += 1 }
    /^[[:space:]]*#endif/ { depth -= 1 }
    depth == 0 && !/^#endif/ { outside = 1 }         # Code after the closing #endif.
    depth == 1 && /^#else/ { outside = 1 }
    END { exit !(lines > 0 && !outside && last ~ /^#endif/) }
  ' "$1"
}

pure_files() {
  local file
  for file in $(swift_files "$@"); do
    is_native_only "$file" || echo "$file"
  done
}

# Prints the files of the machine: all below the driver.
machine_files() { swift_files "$sources/UpdateMachine" | grep -v "^$sources/UpdateMachine/Driver/"; }

# rooms_below MODULE ROOM: prints the room and all that it may use, and those may use.
rooms_below() {
  local module=$1 todo=$2 done=" " room words
  while [ -n "$todo" ]; do
    room=${todo%% *}
    todo=${todo#"$room"}
    todo=${todo# }
    case $done in *" $room "*) continue ;; esac
    done="$done$room "
    words=$(sed -n "s|^// $room may use: \(.*\)\.$|\1|p" "$sources/$module/$room"/*.swift)
    [ "$words" = "no other room" ] || todo="$todo ${words//,/}"
    todo=${todo# }
  done
  echo "$done"
}

# The toolchain's folders: …/usr/lib/swift, and …/usr/bin, where its linker and its wasmkit are.
resources=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": *"\(.*\)".*/\1/p')
bin=$resources/../../bin
unicode=$resources/embedded/wasm32-unknown-none-wasm/libswiftUnicodeDataTables.a

# Prints the path of a tool of the toolchain or, if it has none, of one on the PATH.
tool() {
  if [ -x "$bin/$1" ]; then echo "$bin/$1"; else command -v "$1" || true; fi
}
linker=$(tool wasm-ld)
clang=$(tool clang)

# make_shim: compiles what a bare module lacks. Xcode's clang cannot compile for WebAssembly; that of
# a toolchain from swift.org can. Without -fno-builtin, the loop in memcpy becomes a call of memcpy.
make_shim() {
  [ -n "$clang" ] && "$clang" --target=wasm32-unknown-none -O2 -Wall -Wextra -Werror \
    -ffreestanding -fno-builtin -c -o "$build/Shim.o" Simulations/Playground/Shim.c
}

# compile_module NAME FILE…: makes an object and a module for WebAssembly, with `wasm_flags`; both at
# once, which takes two thirds of the time.
compile_module() {
  local name=$1
  shift
  # shellcheck disable=SC2086  # Flags are words.
  swiftc $wasm_flags -target wasm32-unknown-none-wasm -enable-experimental-feature Embedded \
    -module-name "$name" -I "$build" -emit-module -emit-module-path "$build/$name.swiftmodule" \
    -no-emit-module-separately-wmo -c -o "$build/$name.o" "$@" \
    || fail "$name does not compile as Embedded Swift"
}

# link OUTPUT FLAG…: With --stack-first the stack lies below all data, so that a stack overflow traps
# instead of overwriting data. The stack has 4 MiB: Linux gives 8, and wasm's frames are smaller.
link() {
  local output=$1
  shift
  "$linker" --no-entry --stack-first -z stack-size=4194304 "$@" -o "$output" "$build"/*.o "$unicode" \
    || fail "it does not link as WebAssembly"
}
