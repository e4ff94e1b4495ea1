// What Embedded Swift expects from a C library, and a bare WebAssembly module lacks: an allocator,
// random numbers, text output, the stack protector's two symbols, 128-bit arithmetic, and an entry
// point. For tests only. It imports four functions of WASI preview 1.

#include <stddef.h>
#include <stdint.h>

#define WASI(name) \
  __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name)))

typedef struct {
  const void *start;
  size_t count;
} Bytes;

WASI(fd_write) int wasi_fd_write(int file, const Bytes *parts, size_t count, size_t *written);
WASI(fd_read) int wasi_fd_read(int file, const Bytes *parts, size_t count, size_t *taken);
WASI(random_get) int wasi_random_get(void *buffer, size_t count);
WASI(proc_exit) _Noreturn void wasi_proc_exit(int code);

// MARK: Memory

// The allocator has blocks of 2^class bytes, each with a header. A freed block goes on its class's
// list and is given out again. Blocks are never joined or returned to the host, which is enough for
// a process that lives for seconds.

typedef struct Block {
  struct Block *next;  // While it is free.
} Block;

typedef struct {
  Block *block;
  uint32_t class;
  uint32_t padding[2];  // 16 bytes: what follows is aligned for every type.
} Header;

enum { smallestClass = 5, largestClass = 31, pageSize = 65536, alignment = 16 };

extern unsigned char __heap_base;  // From the linker: the first byte that is nobody's.

static Block *freed[largestClass + 1];
static uintptr_t top, end;

static void *take(size_t size) {
  if (top == 0) {
    top = ((uintptr_t)&__heap_base + alignment - 1) & ~(uintptr_t)(alignment - 1);
    end = __builtin_wasm_memory_size(0) * (uintptr_t)pageSize;
  }
  if (end - top < size) {
    // It grows by at least 1 MiB at once, because growing is slow.
    size_t wanted = size - (end - top);
    size_t pages = (wanted < (1 << 20) ? (1 << 20) : wanted + pageSize - 1) / pageSize;
    if (__builtin_wasm_memory_grow(0, pages) == SIZE_MAX) return NULL;
    end += pages * pageSize;
  }
  void *taken = (void *)top;
  top += size;
  return taken;
}

int posix_memalign(void **result, size_t wanted, size_t size) {
  size_t slack = sizeof(Header) + (wanted > alignment ? wanted : 0);
  if (size > ((size_t)1 << largestClass) - slack) return 12;  // ENOMEM
  uint32_t class = smallestClass;
  while (((size_t)1 << class) < size + slack) class += 1;
  Block *block = freed[class];
  if (block != NULL) {
    freed[class] = block->next;
  } else {
    block = take((size_t)1 << class);
    if (block == NULL) return 12;
  }
  uintptr_t payload = (uintptr_t)block + sizeof(Header);
  if (wanted > alignment) payload = (payload + wanted - 1) & ~(uintptr_t)(wanted - 1);
  Header *header = (Header *)payload - 1;
  header->block = block;
  header->class = class;
  *result = (void *)payload;
  return 0;
}

void free(void *payload) {
  if (payload == NULL) return;
  Header *header = (Header *)payload - 1;
  uint32_t class = header->class;
  Block *block = header->block;
  block->next = freed[class];
  freed[class] = block;
}

// MARK: Bytes. `-fno-builtin` keeps the compiler from turning these loops into calls of themselves.

int memcmp(const void *one, const void *other, size_t count) {
  const unsigned char *left = one, *right = other;
  for (size_t index = 0; index < count; index += 1) {
    if (left[index] != right[index]) return left[index] - right[index];
  }
  return 0;
}

void *memcpy(void *target, const void *source, size_t count) {
  unsigned char *to = target;
  const unsigned char *from = source;
  for (size_t index = 0; index < count; index += 1) to[index] = from[index];
  return target;
}

void *memmove(void *target, const void *source, size_t count) {
  unsigned char *to = target;
  const unsigned char *from = source;
  if (to <= from) return memcpy(target, source, count);
  for (size_t index = count; index > 0; index -= 1) to[index - 1] = from[index - 1];
  return target;
}

void *memset(void *target, int byte, size_t count) {
  unsigned char *to = target;
  for (size_t index = 0; index < count; index += 1) to[index] = (unsigned char)byte;
  return target;
}

// MARK: Numbers

typedef struct {
  uint64_t low, high;
} Wide;

// The low 128 bits of a product, computed from 32-bit halves (`Duration` multiplies like this).
Wide __multi3(uint64_t low, uint64_t high, uint64_t otherLow, uint64_t otherHigh) {
  uint64_t a = low >> 32, b = (uint32_t)low, c = otherLow >> 32, d = (uint32_t)otherLow;
  uint64_t middle = a * d + (b * d >> 32);
  uint64_t middleToo = b * c + (uint32_t)middle;
  uint64_t carried = a * c + (middle >> 32) + (middleToo >> 32);
  return (Wide){low * otherLow, carried + low * otherHigh + high * otherLow};
}

// Shifts of 128 bits, by fewer than 128. Only unoptimised code calls them.
Wide __lshrti3(uint64_t low, uint64_t high, int32_t count) {
  if (count == 0) return (Wide){low, high};
  if (count >= 64) return (Wide){high >> (count - 64), 0};
  return (Wide){low >> count | high << (64 - count), high >> count};
}

Wide __ashlti3(uint64_t low, uint64_t high, int32_t count) {
  if (count == 0) return (Wide){low, high};
  if (count >= 64) return (Wide){0, low << (count - 64)};
  return (Wide){low << count, high << count | low >> (64 - count)};
}

// MARK: The world

// Real random numbers, so that `Hasher` has another seed in every run. The order of a set must
// never show.
void arc4random_buf(void *buffer, size_t count) {
  if (wasi_random_get(buffer, count) != 0) __builtin_trap();
}

uintptr_t __stack_chk_guard = 0x57415F4C;

_Noreturn void __stack_chk_fail(void) { __builtin_trap(); }

static char line[512];
static size_t lineCount;

static void flush(void) {
  const char *start = line;
  while (lineCount > 0) {
    Bytes bytes = {start, lineCount};
    size_t written = 0;
    if (wasi_fd_write(1, &bytes, 1, &written) != 0) wasi_proc_exit(74);  // EX_IOERR
    start += written;
    lineCount -= written;
  }
}

// Embedded Swift's `print` calls this.
int putchar(int byte) {
  line[lineCount] = (char)byte;
  lineCount += 1;
  if (byte == '\n' || lineCount == sizeof line) flush();
  return byte;
}

// A byte of standard input; -1 at its end.
int getchar(void) {
  unsigned char byte = 0;
  Bytes bytes = {&byte, 1};
  size_t taken = 0;
  return wasi_fd_read(0, &bytes, 1, &taken) == 0 && taken == 1 ? byte : -1;
}

// This is Swift's `@main`.
int __main_argc_argv(int count, char **words);

void _start(void) {
  int code = __main_argc_argv(0, NULL);
  flush();
  wasi_proc_exit(code);
}
