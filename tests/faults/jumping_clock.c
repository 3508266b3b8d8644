/* The wall clock leaps to and fro at every look. Clocks that only count from a start go on as they do. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define HOUR 3600L
#define YEAR (365L * 24 * HOUR)

static const long leaps[] = {0, HOUR, -YEAR, 0, -HOUR, 3 * YEAR, 9 * HOUR};
static atomic_uint looks;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        now->tv_sec += leaps[looks++ % (sizeof leaps / sizeof *leaps)];
    return failed;
}

time_t time(time_t *there)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (there)
        *there = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict there, void *restrict zone)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    there->tv_sec = now.tv_sec;
    there->tv_usec = now.tv_nsec / 1000;
    return 0;
}
