/* Two threads that meet each round, for a given number of milliseconds. The runtime's counters are
 * used as any program compiled for Coz does. Prints the rounds. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct { size_t count, backoff; } counter;
extern counter *_coz_get_counter(int, const char *) __attribute__((weak));

static volatile unsigned long sink[2];

static void *spin(void *which)
{
    unsigned long state = 1;
    for (long at = 0; at < 600000; at++)
        state = state * 6364136223846793005UL + 1; /* LINE: work */
    sink[*(int *)which] = state;
    return 0;
}

static long milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000L + now.tv_nsec / 1000000;
}

int main(int count, char **words)
{
    long end = milliseconds() + (count > 1 ? atol(words[1]) : 1000), rounds = 0;
    counter *point = _coz_get_counter ? _coz_get_counter(1, "round") : 0;
    while (milliseconds() < end) {
        int which[2] = {0, 1};
        pthread_t other;
        pthread_create(&other, 0, spin, &which[1]);
        spin(&which[0]);
        pthread_join(other, 0);
        rounds++;
        if (point)
            __atomic_fetch_add(&point->count, 1, __ATOMIC_RELAXED);
    }
    printf("%ld rounds\n", rounds);
    return 0;
}
