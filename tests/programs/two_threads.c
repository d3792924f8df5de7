/* Each round makes two threads and joins them; A works 10 % longer than B.
 * Truth: speeding A up helps until it meets B (9 %), then nothing; speeding B up gains nothing.
 *
 * Build: cc -O2 -g -pthread -I progress-points/include tests/programs/two_threads.c
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

static long a, b;

static void *thread_a(void *nothing)
{
    work(a); /* LINE: a */
    return nothing;
}

static void *thread_b(void *nothing)
{
    work(b); /* LINE: b */
    return nothing;
}

int main(int count, char **words)
{
    double seconds = option(count, words, "--seconds", 10);
    double rounds = option(count, words, "--rounds", 1e18);
    iters = option(count, words, "--iters", iters);
    a = (long)(7.5 * iters * option(count, words, "--a", 1));
    b = (long)(7.5 / 1.1 * iters * option(count, words, "--b", 1));
    check_options(count);

    long round = 0;
    double begin = now();
    while ((double)round < rounds && now() - begin < seconds) {
        pthread_t first, second;
        if (pthread_create(&first, NULL, thread_a, NULL) ||
            pthread_create(&second, NULL, thread_b, NULL))
            return 2;
        pthread_join(first, NULL);
        pthread_join(second, NULL);
        COZ_PROGRESS_NAMED("round");
        round++;
    }
    report(round, now() - begin);
    return 0;
}
