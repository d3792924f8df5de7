/* A bounded queue (mutex and condition variables) between two busy threads: stage a takes 300 us an
 * item, stage b 200 us.
 * Truth: speeding a up gains until it meets b (33 %), speeding b up gains nothing.
 *
 * Build: cc -O2 -g -pthread -I progress-points/include tests/programs/pipeline.c
 * Options: --a X, --b X: share of the stage's work that is left (1).
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

enum { CAPACITY = 16 };

/* A bounded queue; only the number of items matters. */
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled, drained;
    int items;
    int closed;
};

static void push(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->items == CAPACITY)
        pthread_cond_wait(&queue->drained, &queue->lock);
    queue->items++;
    pthread_cond_signal(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
}

/* False when the queue is empty and closed. */
static int pop(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->items == 0 && !queue->closed)
        pthread_cond_wait(&queue->filled, &queue->lock);
    int got = queue->items > 0;
    if (got) {
        queue->items--;
        pthread_cond_signal(&queue->drained);
    }
    pthread_mutex_unlock(&queue->lock);
    return got;
}

static void close_queue(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = 1;
    pthread_cond_broadcast(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
}

static struct queue queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
static double seconds, items;
static long a, b;

static void *produce(void *nothing)
{
    double begin = now();
    for (long item = 0; (double)item < items && now() - begin < seconds; item++) {
        work(a); /* LINE: a */
        push(&queue);
    }
    close_queue(&queue);
    return nothing;
}

int main(int count, char **words)
{
    seconds = option(count, words, "--seconds", 10);
    items = option(count, words, "--rounds", 1e18);
    iters = option(count, words, "--iters", iters);
    a = (long)(0.3 * iters * option(count, words, "--a", 1));
    b = (long)(0.2 * iters * option(count, words, "--b", 1));
    check_options(count);

    pthread_t producer;
    long item = 0;
    double begin = now();
    if (pthread_create(&producer, NULL, produce, NULL))
        return 2;
    while (pop(&queue)) {
        work(b); /* LINE: b */
        COZ_PROGRESS_NAMED("item");
        item++;
    }
    pthread_join(producer, NULL);
    report(item, now() - begin);
    return 0;
}
