/* A file system, below LOCKS_UNDER, whose locks are refused (LOCKS=ENOLCK, ENOSYS, EOPNOTSUPP) or granted to everybody
   (LOCKS=nothing). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int concerned(int file)
{
    char name[64], path[PATH_MAX];
    const char *under = getenv("LOCKS_UNDER");
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t length = readlink(name, path, sizeof path - 1);
    return under && length > 0 && (path[length] = 0, !strncmp(path, under, strlen(under)));
}

static int answer(void)
{
    const char *locks = getenv("LOCKS");
    errno = !locks ? 0
        : !strcmp(locks, "ENOLCK") ? ENOLCK
        : !strcmp(locks, "ENOSYS") ? ENOSYS
        : !strcmp(locks, "EOPNOTSUPP") ? EOPNOTSUPP
        : 0;
    return errno ? -1 : 0;
}

int flock(int file, int operation)
{
    int (*beneath)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
    return concerned(file) ? answer() : beneath(file, operation);
}

static int controlled(const char *name, int file, int command, void *argument)
{
    int (*beneath)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, name);
    switch (concerned(file) ? command : F_GETFD) {
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
        return answer();
    case F_GETLK:
    case F_OFD_GETLK:
        ((struct flock *)argument)->l_type = F_UNLCK;
        return answer();
    default:
        return beneath(file, command, argument);
    }
}

int fcntl(int file, int command, ...)
{
    va_list more;
    va_start(more, command);
    void *argument = va_arg(more, void *);
    va_end(more);
    return controlled("fcntl", file, command, argument);
}

int fcntl64(int file, int command, ...)
{
    va_list more;
    va_start(more, command);
    void *argument = va_arg(more, void *);
    va_end(more);
    return controlled("fcntl64", file, command, argument);
}
