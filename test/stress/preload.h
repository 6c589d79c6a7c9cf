/* What libraries have in common that are preloaded into a process: see preload.ts. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The function that would be called without this library. */
static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

static int is_below(const char *folder, const char *path) { return folder != NULL && strncmp(path, folder, strlen(folder)) == 0; }

/* Whether an open file lies below a folder. */
static int is_open_below(const char *folder, int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return is_below(folder, path);
}
