/* A disk that is full, read-only, failing or frozen, for whatever a program does in one folder.
 *
 * Loaded with LD_PRELOAD. DISK_FOLDER names the folder, DISK_FAULT a file that says what is the matter now: nothing
 * while it is empty or missing, or else ENOSPC, EROFS, EIO, or HANG. EIO and HANG also concern syncing, HANG also
 * reading.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum fault { NONE, FULL, READ_ONLY, BROKEN, FROZEN };

static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

#define REAL(name, type) ((type)real(#name))

static enum fault current(void) {
    const char *control = getenv("DISK_FAULT");
    if (!control) return NONE;
    int fd = REAL(open64, int (*)(const char *, int, ...))(control, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NONE;
    char word[16] = "";
    ssize_t length = read(fd, word, sizeof word - 1);
    close(fd);
    if (length <= 0) return NONE;
    if (!strcmp(word, "ENOSPC")) return FULL;
    if (!strcmp(word, "EROFS")) return READ_ONLY;
    if (!strcmp(word, "EIO")) return BROKEN;
    return strcmp(word, "HANG") ? NONE : FROZEN;
}

static int is_ours(int fd) {
    const char *folder = getenv("DISK_FOLDER");
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (!folder || length <= 0) return 0;
    path[length] = 0;
    size_t whole = strlen(folder);
    return !strncmp(path, folder, whole) && path[whole] == '/';
}

/* Waits while the disk is frozen; says what is the matter with it then. */
static enum fault thawed(int fd) {
    int before = errno;
    enum fault fault = is_ours(fd) ? current() : NONE;
    while (fault == FROZEN) {
        usleep(10000);
        fault = current();
    }
    errno = before;
    return fault;
}

static int refuses_writes(int fd) {
    switch (thawed(fd)) {
    case FULL: errno = ENOSPC; return 1;
    case READ_ONLY: errno = EROFS; return 1;
    case BROKEN: errno = EIO; return 1;
    default: return 0;
    }
}

static int refuses_syncs(int fd) {
    if (thawed(fd) != BROKEN) return 0;
    errno = EIO;
    return 1;
}

ssize_t write(int fd, const void *data, size_t length) {
    return refuses_writes(fd) ? -1 : REAL(write, ssize_t (*)(int, const void *, size_t))(fd, data, length);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off_t offset) {
    if (refuses_writes(fd)) return -1;
    return REAL(pwrite64, ssize_t (*)(int, const void *, size_t, off_t))(fd, data, length, offset);
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return pwrite64(fd, data, length, offset); }

ssize_t pread64(int fd, void *data, size_t length, off_t offset) {
    thawed(fd);
    return REAL(pread64, ssize_t (*)(int, void *, size_t, off_t))(fd, data, length, offset);
}

ssize_t pread(int fd, void *data, size_t length, off_t offset) { return pread64(fd, data, length, offset); }

int ftruncate64(int fd, off_t length) {
    return refuses_writes(fd) ? -1 : REAL(ftruncate64, int (*)(int, off_t))(fd, length);
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int fsync(int fd) { return refuses_syncs(fd) ? -1 : REAL(fsync, int (*)(int))(fd); }

int fdatasync(int fd) { return refuses_syncs(fd) ? -1 : REAL(fdatasync, int (*)(int))(fd); }
