#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

/// How often malloc, calloc, realloc and aligned allocation were called in this process so far;
/// -1 where they cannot be counted (anywhere but on Linux with glibc).
long long allocation_count(void);

/// How many bytes are allocated now; -1 where that cannot be told.
long long allocated_bytes(void);

#endif
