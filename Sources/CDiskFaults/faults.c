#include "CDiskFaults.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(DISK_IS_FULL == SQLITE_FULL, "SQLite's code");
_Static_assert(DISK_WRITE_FAILED == SQLITE_IOERR_WRITE, "SQLite's code");
_Static_assert(DISK_SYNC_FAILED == SQLITE_IOERR_FSYNC, "SQLite's code");

struct layer {
  sqlite3_vfs vfs;
  sqlite3_vfs *below;
  disk_judge judge;
  void *context;
};

struct file {
  sqlite3_file base;
  struct layer *layer;
  const char *path;
  sqlite3_file *below;
};

static int judged(struct layer *layer, struct disk_change change, int *allowed) {
  *allowed = change.kind == DISK_WRITE ? change.count : 1;
  return layer->judge(layer->context, &change, allowed);
}

// Files

static sqlite3_file *below(sqlite3_file *file) { return ((struct file *)file)->below; }

static int file_close(sqlite3_file *file) { return below(file)->pMethods->xClose(below(file)); }

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
  return below(file)->pMethods->xRead(below(file), bytes, count, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
  struct file *ours = (struct file *)file;
  struct disk_change change = {DISK_WRITE, ours->path, bytes, count, offset};
  int allowed;
  int code = judged(ours->layer, change, &allowed);
  if (allowed > 0 && (code == SQLITE_OK || allowed < count)) {
    int written = below(file)->pMethods->xWrite(below(file), bytes, allowed, offset);
    if (written != SQLITE_OK) return written;
  }
  return code;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
  struct file *ours = (struct file *)file;
  struct disk_change change = {DISK_TRUNCATE, ours->path, NULL, 0, size};
  int allowed;
  int code = judged(ours->layer, change, &allowed);
  return code != SQLITE_OK ? code : below(file)->pMethods->xTruncate(below(file), size);
}

static int file_sync(sqlite3_file *file, int flags) {
  struct file *ours = (struct file *)file;
  struct disk_change change = {DISK_SYNC, ours->path, NULL, 0, 0};
  int allowed;
  int code = judged(ours->layer, change, &allowed);
  if (code != SQLITE_OK || allowed == 0) return code;
  return below(file)->pMethods->xSync(below(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
  return below(file)->pMethods->xFileSize(below(file), size);
}

static int file_lock(sqlite3_file *file, int level) {
  return below(file)->pMethods->xLock(below(file), level);
}

static int file_unlock(sqlite3_file *file, int level) {
  return below(file)->pMethods->xUnlock(below(file), level);
}

static int file_check_reserved(sqlite3_file *file, int *result) {
  return below(file)->pMethods->xCheckReservedLock(below(file), result);
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
  return below(file)->pMethods->xFileControl(below(file), operation, argument);
}

static int file_sector(sqlite3_file *file) {
  return below(file)->pMethods->xSectorSize(below(file));
}

static int file_device(sqlite3_file *file) {
  return below(file)->pMethods->xDeviceCharacteristics(below(file));
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,  // No shared memory, no memory maps: every change passes by here.
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_device,
};

// The layer

static struct layer *layer_of(sqlite3_vfs *vfs) { return (struct layer *)vfs; }

static int layer_open(
    sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out) {
  struct file *ours = (struct file *)file;
  sqlite3_vfs *real = layer_of(vfs)->below;
  ours->base.pMethods = NULL;  // Until it is open there is nothing to close.
  ours->layer = layer_of(vfs);
  ours->path = name;
  ours->below = (sqlite3_file *)(ours + 1);
  int code = real->xOpen(real, name, ours->below, flags, out);
  if (ours->below->pMethods != NULL) ours->base.pMethods = &methods;
  return code;
}

static int layer_delete(sqlite3_vfs *vfs, const char *name, int sync_folder) {
  struct disk_change change = {DISK_DELETE, name, NULL, 0, 0};
  int allowed;
  int code = judged(layer_of(vfs), change, &allowed);
  sqlite3_vfs *real = layer_of(vfs)->below;
  return code != SQLITE_OK ? code : real->xDelete(real, name, sync_folder);
}

static int layer_access(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
  sqlite3_vfs *real = layer_of(vfs)->below;
  return real->xAccess(real, name, flags, result);
}

static int layer_full_path(sqlite3_vfs *vfs, const char *name, int count, char *result) {
  sqlite3_vfs *real = layer_of(vfs)->below;
  return real->xFullPathname(real, name, count, result);
}

static int layer_randomness(sqlite3_vfs *vfs, int count, char *result) {
  sqlite3_vfs *real = layer_of(vfs)->below;
  return real->xRandomness(real, count, result);
}

static int layer_sleep(sqlite3_vfs *vfs, int microseconds) {
  sqlite3_vfs *real = layer_of(vfs)->below;
  return real->xSleep(real, microseconds);
}

static int layer_time(sqlite3_vfs *vfs, double *result) {
  sqlite3_vfs *real = layer_of(vfs)->below;
  return real->xCurrentTime(real, result);
}

static int layer_last_error(sqlite3_vfs *vfs, int count, char *result) {
  sqlite3_vfs *real = layer_of(vfs)->below;
  return real->xGetLastError(real, count, result);
}

int disk_faults_register(const char *name, disk_judge judge, void *context) {
  int code = sqlite3_initialize();
  if (code != SQLITE_OK) return code;
  struct layer *layer = calloc(1, sizeof(struct layer));
  if (layer == NULL) return SQLITE_NOMEM;
  layer->below = sqlite3_vfs_find(NULL);
  layer->judge = judge;
  layer->context = context;
  layer->vfs.iVersion = 1;
  layer->vfs.szOsFile = (int)sizeof(struct file) + layer->below->szOsFile;
  layer->vfs.mxPathname = layer->below->mxPathname;
  layer->vfs.zName = name;
  layer->vfs.xOpen = layer_open;
  layer->vfs.xDelete = layer_delete;
  layer->vfs.xAccess = layer_access;
  layer->vfs.xFullPathname = layer_full_path;
  layer->vfs.xRandomness = layer_randomness;
  layer->vfs.xSleep = layer_sleep;
  layer->vfs.xCurrentTime = layer_time;
  layer->vfs.xGetLastError = layer_last_error;
  return sqlite3_vfs_register(&layer->vfs, 0);
}

void disk_faults_unregister(const char *name) {
  sqlite3_vfs *vfs = sqlite3_vfs_find(name);
  if (vfs == NULL || vfs->xOpen != layer_open) return;
  sqlite3_vfs_unregister(vfs);
  free(layer_of(vfs));
}
