/* Six workers take jobs from one queue under a mutex: more threads than two cores. A job is 1.2 ms of
 * a and then 0.8 ms of b; taking it is short.
 * Truth on two cores: the cores are the limit, so speeding a up by s gains 0.6 s, b 0.4 s. On six or
 * more cores the same, as no worker waits for another.
 *
 * Build: cc -O2 -g -pthread -I progress-points/include tests/programs/pool6.c
 * Options: --a X, --b X: share of the line's work that is left (1).
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

enum { WORKERS = 6 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double begin, seconds, jobs;
static long a, b, taken;

/* False when there are no more jobs. */
static int take(void)
{
    pthread_mutex_lock(&lock);
    int got = (double)taken < jobs && now() - begin < seconds;
    taken += got;
    pthread_mutex_unlock(&lock);
    return got;
}

static void *worker(void *nothing)
{
    while (take()) {
        work(a); /* LINE: a */
        work(b); /* LINE: b */
        COZ_PROGRESS_NAMED("job");
    }
    return nothing;
}

int main(int count, char **words)
{
    seconds = option(count, words, "--seconds", 10);
    jobs = option(count, words, "--rounds", 1e18);
    iters = option(count, words, "--iters", iters);
    a = (long)(1.2 * iters * option(count, words, "--a", 1));
    b = (long)(0.8 * iters * option(count, words, "--b", 1));
    check_options(count);

    pthread_t workers[WORKERS];
    begin = now();
    for (int at = 0; at < WORKERS; at++)
        if (pthread_create(workers + at, NULL, worker, NULL))
            return 2;
    for (int at = 0; at < WORKERS; at++)
        pthread_join(workers[at], NULL);
    report(taken, now() - begin);
    return 0;
}
