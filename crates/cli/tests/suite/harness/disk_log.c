/* Logs what a program writes into one folder, so that a test can work out what a power cut would have left there.
 *
 * Loaded with LD_PRELOAD. DISK_LOG names the log, DISK_FOLDER the folder. Each record is
 *   kind (1 byte), length of the path (4), path, offset (8), length of the data (8), data
 * in the machine's byte order. Kinds: c created, w written, t truncated to offset, s synced, r renamed to data,
 * u unlinked. A record is written before its call returns, under one lock, so that the log has the order in which the
 * program could know of things.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES_MAX 65536

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *paths[FILES_MAX];
static char folder[PATH_MAX];
static int log_fd = -1;

static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);
static int (*real_open)(const char *, int, ...);
static int (*real_openat)(int, const char *, int, ...);
static int (*real_close)(int);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off_t);
static int (*real_rename)(const char *, const char *);
static int (*real_unlink)(const char *);

static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

__attribute__((constructor)) static void start(void) {
    real_write = real("write");
    real_pwrite = real("pwrite64");
    real_writev = real("writev");
    real_open = real("open64");
    real_openat = real("openat64");
    real_close = real("close");
    real_fsync = real("fsync");
    real_fdatasync = real("fdatasync");
    real_ftruncate = real("ftruncate64");
    real_rename = real("rename");
    real_unlink = real("unlink");
    const char *log = getenv("DISK_LOG"), *named = getenv("DISK_FOLDER");
    if (log && named && strlen(named) < sizeof folder) {
        strcpy(folder, named);
        log_fd = real_open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
}

static int is_ours(const char *path) {
    size_t length = strlen(folder);
    if (log_fd < 0 || strncmp(path, folder, length) || path[length] != '/') return 0;
    /* The index of the write-ahead log is rebuilt at every start. */
    size_t whole = strlen(path);
    return whole < 4 || strcmp(path + whole - 4, "-shm");
}

/* The caller holds the lock. */
static void record(char kind, const char *path, uint64_t offset, const void *data, uint64_t length) {
    uint32_t path_length = strlen(path);
    struct iovec parts[] = {
        {&kind, 1},       {&path_length, sizeof path_length}, {(void *)path, path_length},
        {&offset, 8},     {&length, 8},                       {(void *)data, length},
    };
    size_t wanted = 1 + sizeof path_length + path_length + 16 + length;
    if (real_writev(log_fd, parts, 6) != (ssize_t)wanted) abort();
}

static const char *path_of(int fd) {
    return fd >= 0 && fd < FILES_MAX ? paths[fd] : NULL;
}

static void opened(int fd, const char *path, int is_new) {
    if (fd < 0 || fd >= FILES_MAX || !is_ours(path)) return;
    pthread_mutex_lock(&lock);
    free(paths[fd]);
    paths[fd] = strdup(path);
    if (is_new) record('c', path, 0, "", 0);
    pthread_mutex_unlock(&lock);
}

static mode_t mode_of(int flags, va_list arguments) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

static int open_any(const char *path, int flags, mode_t mode) {
    int is_new = flags & O_CREAT && access(path, F_OK);
    int fd = real_open(path, flags, mode);
    opened(fd, path, is_new || flags & O_TRUNC);
    return fd;
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_any(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_any(path, flags, mode);
}

int openat64(int at, const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    if (path[0] == '/') return open_any(path, flags, mode);
    return real_openat(at, path, flags, mode);
}

int close(int fd) {
    if (path_of(fd)) {
        pthread_mutex_lock(&lock);
        free(paths[fd]);
        paths[fd] = NULL;
        pthread_mutex_unlock(&lock);
    }
    return real_close(fd);
}

static ssize_t written(int fd, const void *data, ssize_t length, off_t offset) {
    if (length > 0) record('w', paths[fd], offset, data, length);
    return length;
}

ssize_t write(int fd, const void *data, size_t length) {
    if (!path_of(fd)) return real_write(fd, data, length);
    pthread_mutex_lock(&lock);
    off_t offset = fcntl(fd, F_GETFL) & O_APPEND ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR);
    ssize_t done = written(fd, data, real_write(fd, data, length), offset);
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t length, off_t offset) {
    if (!path_of(fd)) return real_pwrite(fd, data, length, offset);
    pthread_mutex_lock(&lock);
    ssize_t done = written(fd, data, real_pwrite(fd, data, length, offset), offset);
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
    return pwrite64(fd, data, length, offset);
}

static int synced(int fd, int (*sync)(int)) {
    if (!path_of(fd)) return sync(fd);
    /* Only what was written before the sync began is known to be there once it has ended. */
    pthread_mutex_lock(&lock);
    int failed = sync(fd);
    if (!failed) record('s', paths[fd], 0, "", 0);
    pthread_mutex_unlock(&lock);
    return failed;
}

int fsync(int fd) { return synced(fd, real_fsync); }

int fdatasync(int fd) { return synced(fd, real_fdatasync); }

int ftruncate64(int fd, off_t length) {
    if (!path_of(fd)) return real_ftruncate(fd, length);
    pthread_mutex_lock(&lock);
    int failed = real_ftruncate(fd, length);
    if (!failed) record('t', paths[fd], length, "", 0);
    pthread_mutex_unlock(&lock);
    return failed;
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int rename(const char *from, const char *to) {
    if (!is_ours(from)) return real_rename(from, to);
    pthread_mutex_lock(&lock);
    int failed = real_rename(from, to);
    if (!failed) record('r', from, 0, to, strlen(to));
    pthread_mutex_unlock(&lock);
    return failed;
}

int unlink(const char *path) {
    if (!is_ours(path)) return real_unlink(path);
    pthread_mutex_lock(&lock);
    int failed = real_unlink(path);
    if (!failed) record('u', path, 0, "", 0);
    pthread_mutex_unlock(&lock);
    return failed;
}
