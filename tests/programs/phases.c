/* Two threads meet at a barrier each round, in phases of four rounds: in the even ones A works 5 ms
 * and B 4 ms, in the odd ones A works 1 ms and B 4 ms.
 * Truth: a matters in even phases only (speeding it up gains up to 1 ms of 5 there), b in odd phases
 * only (down to 1 ms of 4).
 *
 * Build: cc -O2 -g -pthread -I progress-points/include tests/programs/phases.c
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

static pthread_barrier_t barrier;
static double seconds, rounds;
static long last = -1; /* number of the last round; written by A before the barrier of that round */
static long a, b;

static int odd(long round)
{
    return (int)(round / 4 % 2);
}

static void *thread_b(void *nothing)
{
    for (long round = 0;; round++) {
        work(b); /* LINE: b */
        pthread_barrier_wait(&barrier);
        if (round == __atomic_load_n(&last, __ATOMIC_RELAXED))
            return nothing;
    }
}

int main(int count, char **words)
{
    seconds = option(count, words, "--seconds", 10);
    rounds = option(count, words, "--rounds", 1e18);
    iters = option(count, words, "--iters", iters);
    a = (long)(5.0 * iters * option(count, words, "--a", 1));
    b = (long)(4.0 * iters * option(count, words, "--b", 1));
    check_options(count);

    pthread_t second;
    pthread_barrier_init(&barrier, NULL, 2);
    if (pthread_create(&second, NULL, thread_b, NULL))
        return 2;
    long round = 0;
    double begin = now();
    for (int more = 1; more; round++) {
        work(odd(round) ? a / 5 : a); /* LINE: a */
        more = (double)(round + 1) < rounds && now() - begin < seconds;
        if (!more)
            __atomic_store_n(&last, round, __ATOMIC_RELAXED);
        pthread_barrier_wait(&barrier);
        COZ_PROGRESS_NAMED("round");
    }
    report(round, now() - begin);
    pthread_join(second, NULL);
    return 0;
}
