/* A fixed amount of work on two threads, for timing a profiler's cost.
 * cc -O2 -g -pthread fixed_work.c; options: --work N (times about 1.5 s), --main-time 1. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile uint64_t sink;

static __attribute__((noinline)) void work(long iterations)
{
    uint64_t x = 1;
    for (long i = 0; i < iterations; i++)
        x = x * 6364136223846793005ull + 1442695040888963407ull;
    sink = x;
}

static void *worker(void *argument)
{
    for (long round = 0; round < 1000 * (long)(intptr_t)argument; round++)
        work(1000000);
    return 0;
}

int main(int count, char **words)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (count > 2 && !strcmp(words[1], "--main-time")) {
        printf("%lld\n", (long long)now.tv_sec * 1000000000ll + now.tv_nsec);
        return 0;
    }
    long times = count > 2 ? atol(words[2]) : 1;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(threads + i, 0, worker, (void *)(intptr_t)times);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    printf("seconds %.6f\n", (double)(end.tv_sec - now.tv_sec) + (end.tv_nsec - now.tv_nsec) * 1e-9);
    return 0;
}
