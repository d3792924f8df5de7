/* A thread that works on one line and passes a progress point, so that experiments run and pause
 * the other threads while they do what a test is about. */
#ifndef BUSY_H
#define BUSY_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "coz.h"

static volatile int busy_goes_on = 1;
static volatile unsigned long busy_sink;
static pthread_t busy_thread;

__attribute__((noinline)) static void *busy_run(void *unused)
{
    unsigned long state = 1;
    (void)unused;
    while (busy_goes_on) {
        for (int at = 0; at < 60000; at++)
            state = state * 6364136223846793005UL + 1; /* LINE: hot */
        COZ_PROGRESS_NAMED("tick");
    }
    busy_sink = state;
    return NULL;
}

static inline void busy_start(void)
{
    if (pthread_create(&busy_thread, NULL, busy_run, NULL) != 0) {
        puts("no thread");
        exit(1);
    }
}

static inline void busy_stop(void)
{
    busy_goes_on = 0;
    pthread_join(busy_thread, NULL);
}

/* Milliseconds of a clock. */
static inline long clock_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000L + now.tv_nsec / 1000000;
}

/* Uses this much CPU time of the calling thread. */
static inline void spin_ms(long milliseconds)
{
    long end = clock_ms(CLOCK_THREAD_CPUTIME_ID) + milliseconds;
    while (clock_ms(CLOCK_THREAD_CPUTIME_ID) < end) /* LINE: spin */
        for (int at = 0; at < 2000; at++)
            busy_sink = busy_sink * 3 + 1;
}

static inline void check(int good, const char *what)
{
    if (!good) {
        printf("failed: %s\n", what);
        fflush(stdout);
        _exit(99);
    }
}

#endif
