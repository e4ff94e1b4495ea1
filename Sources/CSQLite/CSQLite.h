#ifndef CSQLITE_H
#define CSQLITE_H

#include <sqlite3.h>

// What Swift does not import of SQLite: casts in macros, and functions with variable arguments.

/// Binds bytes, which SQLite copies at once. None at all are an empty blob, not NULL.
static inline int csqlite_bind_bytes(
    sqlite3_stmt *statement, int place, const void *bytes, sqlite3_uint64 count) {
  if (count == 0) return sqlite3_bind_zeroblob(statement, place, 0);
  return sqlite3_bind_blob64(statement, place, bytes, count, SQLITE_TRANSIENT);
}

/// Binds bytes that stay where they are until the statement is reset. None at all are an empty blob, not
/// NULL; one of zeroes would be allocated for each row.
static inline int csqlite_bind_bytes_in_place(
    sqlite3_stmt *statement, int place, const void *bytes, sqlite3_uint64 count) {
  if (count == 0) return sqlite3_bind_blob64(statement, place, "", 0, SQLITE_STATIC);
  return sqlite3_bind_blob64(statement, place, bytes, count, SQLITE_STATIC);
}

/// Binds text that ends with a zero byte, which SQLite copies at once.
static inline int csqlite_bind_text(sqlite3_stmt *statement, int place, const char *text) {
  return sqlite3_bind_text(statement, place, text, -1, SQLITE_TRANSIENT);
}

/// Turns an option of a connection on or off.
static inline int csqlite_db_config(sqlite3 *connection, int option, int on) {
  return sqlite3_db_config(connection, option, on, (int *)0);
}

#endif
