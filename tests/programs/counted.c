/* Threads that pass one progress point as fast as they can, and count with it: for the time given in
 * milliseconds, then prints how often all of them passed. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "coz.h"

enum { THREADS = 2, AT_ONCE = 1000 };

static long milliseconds;

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000L + time.tv_nsec / 1000000;
}

static void *pass(void *sum)
{
    long end = now() + milliseconds, passed = 0;
    do {
        for (int at = 0; at < AT_ONCE; at++)
            COZ_PROGRESS_NAMED("passed"); /* LINE: hot */
        passed += AT_ONCE;
    } while (now() < end);
    *(long *)sum = passed;
    return NULL;
}

int main(int words, char **word)
{
    pthread_t threads[THREADS];
    long sums[THREADS], all = 0;
    alarm(60);
    milliseconds = words > 1 ? atol(word[1]) : 1000;
    for (int at = 0; at < THREADS; at++)
        if (pthread_create(&threads[at], NULL, pass, &sums[at]) != 0)
            return 1;
    for (int at = 0; at < THREADS; at++) {
        pthread_join(threads[at], NULL);
        all += sums[at];
    }
    printf("%ld\n", all);
    return 0;
}
