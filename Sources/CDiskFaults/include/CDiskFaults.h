#ifndef CDISKFAULTS_H
#define CDISKFAULTS_H

// A layer between SQLite and the disk ("VFS"): the code that registers it hears of everything that is about
// to change the disk, and may refuse it, cut it short or only claim that it was done. For tests, which
// make power cuts, full disks and failed syncs with it. It knows no shared memory, so SQLite must use
// its log in exclusive locking mode.

enum disk_change_kind {
  DISK_WRITE = 1,
  DISK_TRUNCATE = 2,
  DISK_SYNC = 3,
  DISK_DELETE = 4,
};

/// SQLite's codes for some failures, as numbers that Swift imports.
enum disk_failure {
  DISK_IS_FULL = 13,
  DISK_WRITE_FAILED = 778,
  DISK_SYNC_FAILED = 1034,
};

struct disk_change {
  int kind;
  /// Of the file; NULL for one that has no name.
  const char *path;
  /// What is written; NULL for all but writes.
  const void *bytes;
  /// How many bytes.
  int count;
  /// Where they are written; for a truncation the new length.
  long long offset;
};

/// Judges a change before it is made: returns 0, and it is made, or the code of a failure (`disk_failure`,
/// or another of SQLite's), and it is not. `allowed` is how much of it is made: at first all, `count` for
/// a write and 1 for anything else. A write that fails has written the first `allowed` bytes; a sync
/// that is well with 0 was only claimed, which is much faster.
typedef int (*disk_judge)(void *context, const struct disk_change *change, int *allowed);

/// Registers a layer above SQLite's usual way to the disk. Returns 0, or SQLite's code. Name and context
/// must live until it is unregistered.
int disk_faults_register(const char *name, disk_judge judge, void *context);

/// Must come after the last connection through it was closed.
void disk_faults_unregister(const char *name);

#endif
