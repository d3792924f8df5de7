/* A writer and a reader share a reader/writer lock: the writer works 0.6 ms with it, the reader 0.5 ms
 * with it and 0.5 ms without, and the reader's rounds count.
 * Truth: the reader waits for the writer about once a round, so write and read gain, outside less.
 *
 * Build: cc -O2 -g -pthread -I progress-points/include tests/programs/rwlock.c
 * Options: --write X, --read X, --outside X: share of the line's work that is left (1).
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

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static double seconds, rounds;
static long write, read, outside;
static int stop;

static void *writer(void *nothing)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        pthread_rwlock_wrlock(&lock);
        work(write); /* LINE: write */
        pthread_rwlock_unlock(&lock);
        work(outside / 4);
    }
    return nothing;
}

int main(int count, char **words)
{
    seconds = option(count, words, "--seconds", 10);
    rounds = option(count, words, "--rounds", 1e18);
    iters = option(count, words, "--iters", iters);
    write = (long)(0.6 * iters * option(count, words, "--write", 1));
    read = (long)(0.5 * iters * option(count, words, "--read", 1));
    outside = (long)(0.5 * iters * option(count, words, "--outside", 1));
    check_options(count);

    pthread_t thread;
    if (pthread_create(&thread, NULL, writer, NULL))
        return 2;
    long round = 0;
    double begin = now();
    while ((double)round < rounds && now() - begin < seconds) {
        pthread_rwlock_rdlock(&lock);
        work(read); /* LINE: read */
        pthread_rwlock_unlock(&lock);
        work(outside); /* LINE: outside */
        COZ_PROGRESS_NAMED("round");
        round++;
    }
    report(round, now() - begin);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    return 0;
}
