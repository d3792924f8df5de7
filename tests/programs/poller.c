/* A worker and a poller share a mutex: the worker works 0.4 ms without it and 1 ms with it, and its
 * rounds count; the poller works 4 ms and then holds the mutex for 0.6 ms to look at the state.
 * Truth: the faster the poller's line, the more often it takes the mutex, and the slower the worker
 * gets (by a quarter and more). Speeding the worker's own line up gains.
 *
 * Build: cc -O2 -g -pthread -I progress-points/include tests/programs/poller.c
 * Options: --poll X, --work X: share of the line's work that is left (1).
 *          --seconds S (10), --rounds N (no limit), --iters N (iterations a millisecond). */
#include "coz.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Loop iterations that stand for a millisecond; --iters sets it, nothing measures it. */
static double iters = 700000;

static int options_read;

/* The value of an option, which is counted, so that a misspelt one is noticed. */
static double option(int count, char **words, const char *name, double value)
{
    for (int at = 1; at + 1 < count; at += 2)
        if (!strcmp(words[at], name)) {
            options_read++;
            value = atof(words[at + 1]);
        }
    return value;
}

static void check_options(int count)
{
    if (count != 1 + 2 * options_read) {
        fputs("unknown option; the comment atop the source lists them\n", stderr);
        exit(2);
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* A chain of dependent multiplications: the same time for the same count. */
static __attribute__((noinline)) void work(long count)
{
    uint64_t x = 1;
    while (count-- > 0)
        x = x * 6364136223846793005ull + 1442695040888963407ull;
    __asm__ volatile("" : : "r"(x)); /* the compiler must believe that x is used */
}

static void report(long rounds, double seconds)
{
    printf("rounds %ld seconds %.3f rate %.6g\n", rounds, seconds, (double)rounds / seconds);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long poll, look, inside, outside;
static int over;

static void *poller(void *nothing)
{
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        work(poll); /* LINE: poll */
        pthread_mutex_lock(&lock);
        work(look);
        pthread_mutex_unlock(&lock);
    }
    return nothing;
}

int main(int count, char **words)
{
    double seconds = option(count, words, "--seconds", 10);
    double rounds = option(count, words, "--rounds", 1e18);
    iters = option(count, words, "--iters", iters);
    poll = (long)(4.0 * iters * option(count, words, "--poll", 1));
    look = (long)(0.6 * iters);
    inside = (long)(1.0 * iters * option(count, words, "--work", 1));
    outside = (long)(0.4 * iters);
    check_options(count);

    pthread_t second;
    if (pthread_create(&second, NULL, poller, NULL))
        return 2;
    long round = 0;
    double begin = now();
    while ((double)round < rounds && now() - begin < seconds) {
        work(outside);
        pthread_mutex_lock(&lock);
        work(inside); /* LINE: work */
        pthread_mutex_unlock(&lock);
        COZ_PROGRESS_NAMED("round");
        round++;
    }
    report(round, now() - begin);
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    pthread_join(second, NULL);
    return 0;
}
