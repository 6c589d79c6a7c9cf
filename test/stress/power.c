/*
 * Loss of power, for one process: preloaded, it writes down how much of each file has been synced, so that afterwards everything else can be
 * taken away; and it can end the process right before or right after its n-th sync.
 *
 *   FOLIO_POWER_JOURNAL  where to write: "C <inode>" a file begins anew, "S <inode> <size>" so much of it is on the disk; a folder that is
 *                        synced makes its files be there, with as little as nothing in them
 *   FOLIO_POWER_FOLDER   files below it are watched
 *   FOLIO_POWER_CUT      n: after the n-th sync; -n: in place of it
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_int syncs;

static int watched(int fd, struct stat *found) {
  const char *folder = getenv("FOLIO_POWER_FOLDER");
  char link[64], path[4096];
  if (folder == NULL || fstat(fd, found) != 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return strncmp(path, folder, strlen(folder)) == 0;
}

/* One write a line: lines of several threads do not mix, and none is lost with the process. */
static void journal(const char *line) {
  const char *path = getenv("FOLIO_POWER_JOURNAL");
  int fd = path == NULL ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, line, strlen(line)) < 0) abort();
  close(fd);
}

static void journal_sync(const struct stat *file, long long size) {
  char line[64];
  snprintf(line, sizeof line, "S %llu %lld\n", (unsigned long long)file->st_ino, size);
  journal(line);
}

static void journal_folder(void) {
  const char *folder = getenv("FOLIO_POWER_FOLDER");
  DIR *open_folder = opendir(folder);
  if (open_folder == NULL) return;
  for (struct dirent *entry; (entry = readdir(open_folder)) != NULL;) {
    char path[4096];
    struct stat found;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (stat(path, &found) == 0 && S_ISREG(found.st_mode)) journal_sync(&found, 0);
  }
  closedir(open_folder);
}

static int synced(int fd, const char *name) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  struct stat before;
  if (!watched(fd, &before)) return real(fd);
  const char *cut = getenv("FOLIO_POWER_CUT");
  int at = cut == NULL ? 0 : atoi(cut);
  int nth = atomic_fetch_add(&syncs, 1) + 1;
  if (at == -nth) kill(getpid(), SIGKILL);
  int failed = real(fd);
  if (failed == 0 && S_ISDIR(before.st_mode)) journal_folder();
  if (failed == 0 && S_ISREG(before.st_mode)) journal_sync(&before, before.st_size);
  if (at == nth) kill(getpid(), SIGKILL);
  return failed;
}

int fsync(int fd) { return synced(fd, "fsync"); }
int fdatasync(int fd) { return synced(fd, "fdatasync"); }

static FILE *opened(const char *path, const char *mode, const char *name) {
  FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, name);
  FILE *file = real(path, mode);
  struct stat found;
  if (file != NULL && mode[0] == 'w' && watched(fileno(file), &found)) {
    char line[64];
    snprintf(line, sizeof line, "C %llu\n", (unsigned long long)found.st_ino);
    journal(line);
  }
  return file;
}

FILE *fopen(const char *path, const char *mode) { return opened(path, mode, "fopen"); }
FILE *fopen64(const char *path, const char *mode) { return opened(path, mode, "fopen64"); }
