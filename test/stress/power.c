/*
 * Loss of power, for one process: preloaded, it writes down how much of each file has been synced, so that afterwards everything else can be
 * taken away; and it can end the process right before or right after its n-th sync.
 *
 *   FOLIO_POWER_JOURNAL  where to write: "C <inode>" a file begins anew, "S <inode> <size>" so much of it is on the disk, "N <inode>" its
 *                        name is: a folder that is synced makes its files be there, with as little as nothing in them
 *   FOLIO_POWER_FOLDER   files below it are watched
 *   FOLIO_POWER_CUT      n: after the n-th sync; -n: in place of it
 *   FOLIO_POWER_WRITES   if set, every write is written down too, before it is made, for files that are written in place:
 *                        "W <inode> <offset> <length> <size> <old> <sync>", then the old bytes that were there, and then the new ones. `size` is
 *                        that of the file, and `sync` is 1 if the file is open for synchronous writes: such a write counts as a sync. One
 *                        thread at a time writes to a file.
 *   FOLIO_POWER_LIES     if set, no sync is written down: a disk that says so, and does not
 */
#include "preload.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>

static atomic_int syncs;

static int watched(int fd, struct stat *found) {
  return fstat(fd, found) == 0 && is_open_below(getenv("FOLIO_POWER_FOLDER"), fd);
}

/* One write an entry: entries of several threads do not mix, and none is lost with the process. */
static void journal_all(const struct iovec *parts, int count) {
  ssize_t (*real)(int, const struct iovec *, int) = (ssize_t (*)(int, const struct iovec *, int))next("writev");
  const char *path = getenv("FOLIO_POWER_JOURNAL");
  int fd = path == NULL ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || real(fd, parts, count) < 0) abort();
  close(fd);
}

static void journal(char *line) {
  struct iovec part = {line, strlen(line)};
  journal_all(&part, 1);
}

static void journal_sync(const struct stat *file) {
  char line[64];
  if (getenv("FOLIO_POWER_LIES") != NULL) return;
  snprintf(line, sizeof line, "S %llu %lld\n", (unsigned long long)file->st_ino, (long long)file->st_size);
  journal(line);
}

static void journal_name(const struct stat *file) {
  char line[64];
  if (getenv("FOLIO_POWER_LIES") != NULL) return;
  snprintf(line, sizeof line, "N %llu\n", (unsigned long long)file->st_ino);
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
    if (stat(path, &found) == 0 && S_ISREG(found.st_mode)) journal_name(&found);
  }
  closedir(open_folder);
}

static int cut_at(void) {
  const char *cut = getenv("FOLIO_POWER_CUT");
  return cut == NULL ? 0 : atoi(cut);
}

static int synced(int fd, const char *name) {
  int (*real)(int) = (int (*)(int))next(name);
  struct stat before;
  if (!watched(fd, &before)) return real(fd);
  int at = cut_at();
  int nth = atomic_fetch_add(&syncs, 1) + 1;
  if (at == -nth) kill(getpid(), SIGKILL);
  int failed = real(fd);
  if (failed == 0 && S_ISDIR(before.st_mode)) journal_folder();
  if (failed == 0 && S_ISREG(before.st_mode)) journal_sync(&before);
  if (at == nth) kill(getpid(), SIGKILL);
  return failed;
}

int fsync(int fd) { return synced(fd, "fsync"); }
int fdatasync(int fd) { return synced(fd, "fdatasync"); }

static FILE *opened(const char *path, const char *mode, const char *name) {
  FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *)) next(name);
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

/* A write at an offset; -1: where the file stands. */
static ssize_t written(int fd, const struct iovec *parts, int count, off_t offset, ssize_t (*make)(int, const struct iovec *, int, off_t)) {
  struct stat file;
  if (getenv("FOLIO_POWER_WRITES") == NULL || !watched(fd, &file) || !S_ISREG(file.st_mode)) return make(fd, parts, count, offset);
  off_t at = offset >= 0 ? offset : fcntl(fd, F_GETFL) & O_APPEND ? file.st_size : lseek(fd, 0, SEEK_CUR);
  size_t length = 0;
  for (int i = 0; i < count; i++) length += parts[i].iov_len;
  char *old = malloc(length + 1), self[64], line[160];
  struct iovec entry[2 + 64];
  if (old == NULL || count > 64) abort();
  /* The descriptor may be open for writing alone. */
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  int reading = open(self, O_RDONLY | O_CLOEXEC);
  ssize_t had = reading < 0 ? 0 : pread(reading, old, length, at);
  if (reading >= 0) close(reading);
  int sync = (fcntl(fd, F_GETFL) & O_DSYNC) != 0 && getenv("FOLIO_POWER_LIES") == NULL;
  int cut = cut_at(), nth = sync ? atomic_fetch_add(&syncs, 1) + 1 : 0;
  /* Of a write in progress, no part is sure. */
  int sure = sync && cut != -nth;
  snprintf(line, sizeof line, "W %llu %lld %zu %lld %zd %d\n", (unsigned long long)file.st_ino, (long long)at, length,
           (long long)file.st_size, had, sure);
  entry[0] = (struct iovec){line, strlen(line)};
  entry[1] = (struct iovec){old, had};
  memcpy(entry + 2, parts, count * sizeof *parts);
  journal_all(entry, count + 2);
  free(old);
  if (sync && cut == -nth) kill(getpid(), SIGKILL);
  ssize_t done = make(fd, parts, count, offset);
  if (sync && cut == nth) kill(getpid(), SIGKILL);
  return done;
}

static ssize_t by_write(int fd, const struct iovec *parts, int count, off_t offset) {
  return ((ssize_t(*)(int, const void *, size_t))next("write"))(fd, parts->iov_base, parts->iov_len);
}
static ssize_t by_writev(int fd, const struct iovec *parts, int count, off_t offset) {
  return ((ssize_t(*)(int, const struct iovec *, int))next("writev"))(fd, parts, count);
}
static ssize_t by_pwrite(int fd, const struct iovec *parts, int count, off_t offset) {
  return ((ssize_t(*)(int, const void *, size_t, off_t))next("pwrite64"))(fd, parts->iov_base, parts->iov_len, offset);
}

ssize_t write(int fd, const void *bytes, size_t length) {
  struct iovec part = {(void *)bytes, length};
  return written(fd, &part, 1, -1, by_write);
}
ssize_t writev(int fd, const struct iovec *parts, int count) { return written(fd, parts, count, -1, by_writev); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  struct iovec part = {(void *)bytes, length};
  return written(fd, &part, 1, offset, by_pwrite);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) { return pwrite(fd, bytes, length, offset); }
