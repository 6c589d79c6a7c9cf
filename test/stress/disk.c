/*
 * A disk that fails, for one process: preloaded, it lets calls that change files fail, or those that read them.
 *
 *   FOLIO_DISK_CALLS   "changes"; "reads"; or "streams", by which LevelDB reads its MANIFEST and its logs
 *   FOLIO_DISK_FOLDER  files below it are meant
 *   FOLIO_DISK_AT      the first call that fails, counted from 1
 *   FOLIO_DISK_FOR     how many fail from there on
 *   FOLIO_DISK_CODE    with which code of the system
 *
 * LMDB's files can always be opened: where one cannot, it ends the process.
 */
#include "preload.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/uio.h>

static atomic_long calls;

static const char *folder(void) { return getenv("FOLIO_DISK_FOLDER"); }
static int watched(int fd) { return is_open_below(folder(), fd); }

#define CHANGES "changes"
#define READS "reads"
#define STREAMS "streams"

static int fails(const char *kind, int is_watched) {
  const char *meant = getenv("FOLIO_DISK_CALLS"), *at = getenv("FOLIO_DISK_AT"), *count = getenv("FOLIO_DISK_FOR"), *code = getenv("FOLIO_DISK_CODE");
  if (!is_watched || meant == NULL || strcmp(meant, kind) != 0 || at == NULL || count == NULL || code == NULL) return 0;
  long nth = atomic_fetch_add(&calls, 1) + 1;
  if (nth < atol(at) || nth - atol(at) >= atol(count)) return 0;
  errno = atoi(code);
  return 1;
}

#define FAILING(kind, result, name, parameters, arguments, is_watched, failed)\
  result(name) parameters {                                                   \
    if (fails(kind, is_watched)) return failed;                               \
    return ((result(*) parameters)next(#name))arguments;                      \
  }

FAILING(CHANGES, ssize_t, write, (int fd, const void *bytes, size_t length), (fd, bytes, length), fd > 2 && watched(fd), -1)
FAILING(CHANGES, ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), fd > 2 && watched(fd), -1)
FAILING(CHANGES, ssize_t, pwrite, (int fd, const void *bytes, size_t length, off_t at), (fd, bytes, length, at), watched(fd), -1)
FAILING(CHANGES, ssize_t, pwrite64, (int fd, const void *bytes, size_t length, off_t at), (fd, bytes, length, at), watched(fd), -1)
FAILING(CHANGES, ssize_t, pwritev, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at), watched(fd), -1)
FAILING(CHANGES, int, ftruncate, (int fd, off_t length), (fd, length), watched(fd), -1)
FAILING(CHANGES, int, ftruncate64, (int fd, off_t length), (fd, length), watched(fd), -1)
FAILING(CHANGES, int, fsync, (int fd), (fd), watched(fd), -1)
FAILING(CHANGES, int, fdatasync, (int fd), (fd), watched(fd), -1)
FAILING(CHANGES, int, rename, (const char *from, const char *to), (from, to), is_below(folder(), to), -1)
FAILING(CHANGES, size_t, fwrite_unlocked, (const void *bytes, size_t size, size_t count, FILE *file), (bytes, size, count, file), watched(fileno(file)), 0)
FAILING(CHANGES, int, fflush_unlocked, (FILE *file), (file), file != NULL && watched(fileno(file)), EOF)

FAILING(READS, ssize_t, read, (int fd, void *bytes, size_t length), (fd, bytes, length), fd > 2 && watched(fd), -1)
FAILING(READS, ssize_t, readv, (int fd, const struct iovec *parts, int count), (fd, parts, count), fd > 2 && watched(fd), -1)
FAILING(READS, ssize_t, pread, (int fd, void *bytes, size_t length, off_t at), (fd, bytes, length, at), watched(fd), -1)
FAILING(READS, ssize_t, pread64, (int fd, void *bytes, size_t length, off_t at), (fd, bytes, length, at), watched(fd), -1)
FAILING(READS, ssize_t, preadv, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at), watched(fd), -1)
FAILING(STREAMS, size_t, fread_unlocked, (void *bytes, size_t size, size_t count, FILE *file), (bytes, size, count, file), watched(fileno(file)), 0)
FAILING(STREAMS, FILE *, fopen, (const char *path, const char *mode), (path, mode), *mode == 'r' && is_below(folder(), path), NULL)
FAILING(STREAMS, FILE *, fopen64, (const char *path, const char *mode), (path, mode), *mode == 'r' && is_below(folder(), path), NULL)

static int opened(const char *name, const char *path, int flags, mode_t mode) {
  const char *kind = (flags & O_CREAT) != 0 ? CHANGES : READS;
  if (fails(kind, strstr(path, ".mdb") == NULL && is_below(folder(), path))) return -1;
  return ((int (*)(const char *, int, ...))next(name))(path, flags, mode);
}

#define OPENING(name)                                                         \
  int name(const char *path, int flags, ...) {                                \
    mode_t mode = 0;                                                          \
    if ((flags & (O_CREAT | O_TMPFILE)) != 0) {                               \
      va_list rest;                                                           \
      va_start(rest, flags);                                                  \
      mode = va_arg(rest, mode_t);                                            \
      va_end(rest);                                                           \
    }                                                                         \
    return opened(#name, path, flags, mode);                                  \
  }

OPENING(open)
OPENING(open64)
