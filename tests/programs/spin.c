/* Two threads contend for a spin lock: 200 us of work inside it, 120 us outside, each time.
 * Truth: as for lock.c; who waits burns its core, and that time is nobody's work.
 *
 * Build: cc -O2 -g -pthread -I progress-points/include tests/programs/spin.c
 * Options: --inside X, --outside X: share of the line's work that is left (1).
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

static pthread_spinlock_t lock;
static double begin, seconds, rounds;
static long inside, outside, done;

static void *worker(void *nothing)
{
    int more = 1;
    while (more) {
        pthread_spin_lock(&lock);
        work(inside); /* LINE: inside */
        more = (double)++done < rounds && now() - begin < seconds;
        pthread_spin_unlock(&lock);
        work(outside); /* LINE: outside */
        COZ_PROGRESS_NAMED("round");
    }
    return nothing;
}

int main(int count, char **words)
{
    seconds = option(count, words, "--seconds", 10);
    rounds = option(count, words, "--rounds", 1e18);
    iters = option(count, words, "--iters", iters);
    inside = (long)(0.2 * iters * option(count, words, "--inside", 1));
    outside = (long)(0.12 * iters * option(count, words, "--outside", 1));
    check_options(count);

    pthread_t threads[2];
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    begin = now();
    for (int at = 0; at < 2; at++)
        if (pthread_create(threads + at, NULL, worker, NULL))
            return 2;
    for (int at = 0; at < 2; at++)
        pthread_join(threads[at], NULL);
    report(done, now() - begin);
    return 0;
}
