// Prints what each file in an index store defines and mentions, for `Tests/rooms`.
//
// Usage: mentions STORE, a folder that `swiftc -index-store-path` has written for one module.
// Each line has five fields, with tabs between them: the file's name, the line, "definition" or
// "mention", the symbol's unique name (USR), the symbol's name.
//
// Each Swift toolchain has libIndexStore, but most have no header for it. So the few functions that
// are needed are declared here. They are stable, because SourceKit-LSP loads them by name.

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *data;
  size_t length;
} Text;

void *indexstore_store_create(const char *path, void **error);
void *indexstore_record_reader_create(void *store, const char *record, void **error);
bool indexstore_record_reader_occurrences_apply_f(
  void *reader, void *context, bool (*see)(void *context, void *occurrence));
void *indexstore_occurrence_get_symbol(void *occurrence);
uint64_t indexstore_occurrence_get_roles(void *occurrence);
void indexstore_occurrence_get_line_col(void *occurrence, unsigned *line, unsigned *column);
Text indexstore_symbol_get_usr(void *symbol);
Text indexstore_symbol_get_name(void *symbol);
const char *indexstore_error_get_description(void *error);

enum { declaration = 1 << 0, definition = 1 << 1 };

static void fail(const char *what, void *error) {
  fprintf(
    stderr, "mentions: %s: %s\n", what,
    error ? indexstore_error_get_description(error) : "cannot be read");
  exit(1);
}

// Prints one occurrence. The context is the file's name.
static bool see(void *context, void *occurrence) {
  void *symbol = indexstore_occurrence_get_symbol(occurrence);
  Text usr = indexstore_symbol_get_usr(symbol);
  Text name = indexstore_symbol_get_name(symbol);
  bool defines = indexstore_occurrence_get_roles(occurrence) & (declaration | definition);
  unsigned line, column;
  indexstore_occurrence_get_line_col(occurrence, &line, &column);
  printf(
    "%s\t%u\t%s\t%.*s\t%.*s\n", (const char *)context, line, defines ? "definition" : "mention",
    (int)usr.length, usr.data, (int)name.length, name.data);
  return true;
}

// A record is named after its file, like "Machine.swift-1A2B3C". No two files of a module have the
// same name.
static void read_records(void *store, const char *folder) {
  DIR *directory = opendir(folder);
  if (!directory) return;
  for (struct dirent *entry; (entry = readdir(directory));) {
    char name[1024];
    snprintf(name, sizeof name, "%s", entry->d_name);
    char *dash = strrchr(name, '-');
    if (!dash || dash - name < 6 || strncmp(dash - 6, ".swift", 6)) continue;
    void *error = NULL;
    void *reader = indexstore_record_reader_create(store, entry->d_name, &error);
    if (!reader) fail(entry->d_name, error);
    *dash = 0;
    indexstore_record_reader_occurrences_apply_f(reader, name, see);
  }
  closedir(directory);
}

int main(int count, char **arguments) {
  if (count != 2) return 2;
  void *error = NULL;
  void *store = indexstore_store_create(arguments[1], &error);
  if (!store) fail(arguments[1], error);
  // Records are at STORE/v5/records/XY/FILE-HASH. The version may differ.
  char version[1024];
  for (int number = 1; number < 100; number++) {
    snprintf(version, sizeof version, "%s/v%d/records", arguments[1], number);
    DIR *directory = opendir(version);
    if (!directory) continue;
    for (struct dirent *entry; (entry = readdir(directory));) {
      char folder[2048];
      snprintf(folder, sizeof folder, "%s/%s", version, entry->d_name);
      if (entry->d_name[0] != '.') read_records(store, folder);
    }
    closedir(directory);
  }
  return 0;
}
