// Counts allocations by standing in front of glibc's own functions.
#include "CAllocations.h"
#include <stddef.h>
#include <stdlib.h> // Tells whether this is glibc.

#if defined(__linux__) && defined(__GLIBC__)
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_llong count;

void *malloc(size_t size) {
  atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
  return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
  atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
  return __libc_realloc(old, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
  atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
  *result = __libc_memalign(alignment, size);
  return *result == NULL ? ENOMEM : 0;
}

long long allocation_count(void) { return atomic_load_explicit(&count, memory_order_relaxed); }

long long allocated_bytes(void) {
  struct mallinfo2 all = mallinfo2();
  return (long long)(all.uordblks + all.hblkhd);
}
#else
long long allocation_count(void) { return -1; }

long long allocated_bytes(void) { return -1; }
#endif
