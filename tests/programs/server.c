/* A server with two stages, a thread each, and a queue before each: parsing a request takes 900 us,
 * answering it 700 us, and a request comes each 2 ms on average. Its mean latency, queues included,
 * is also measured here, directly.
 *
 * Where the requests come from is an option:
 *   default        main makes them, sleeping after each one: a pause of main delays them all.
 *   --clock 1      another process sends them by the clock through a pipe, whatever we do.
 *   --clients N    N clients that send their next request when they get an answer.
 * Truth: see tests/src/truth/latency.rs.
 *
 * Build: cc -O2 -g -pthread -I progress-points/include tests/programs/server.c
 * Options: --parse X, --answer X: share of the line's work that is left (1).
 *          --plain 1: counts begins and ends as Coz's own header does.
 *          --seconds S (10), --iters N (iterations a millisecond). */
#include "coz.h"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

enum { ROOM = 65536 };

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    double began[ROOM]; /* when each request came; negative: the last one */
    unsigned head, tail;
};

static struct queue parsing = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, 0};
static struct queue answering = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, 0};

static void push(struct queue *queue, double began)
{
    pthread_mutex_lock(&queue->lock);
    queue->began[queue->tail++ % ROOM] = began;
    if (queue->tail - queue->head > ROOM) {
        fputs("too many requests\n", stderr);
        exit(2);
    }
    pthread_cond_signal(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
}

static double pop(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->head == queue->tail)
        pthread_cond_wait(&queue->filled, &queue->lock);
    double began = queue->began[queue->head++ % ROOM];
    pthread_mutex_unlock(&queue->lock);
    return began;
}

static double seconds, first, latencies;
static long parse_work, answer_work, answers, clients;
static int plain;

/* What Coz's header makes of a begin or an end. */
static void count_plainly(int kind, size_t **counter)
{
    if (!*counter) {
        size_t *(*get)(int, const char *) = NULL;
        void *address = dlsym(NULL, "_coz_get_counter");
        memcpy(&get, &address, sizeof get);
        static size_t nobody[2];
        *counter = get ? get(kind, "request") : nobody;
    }
    __atomic_fetch_add(*counter, 1, __ATOMIC_RELAXED);
}

static void begin(void)
{
    static size_t *counter;
    if (plain)
        count_plainly(2, &counter);
    else
        COZ_BEGIN("request");
    push(&parsing, now());
}

static void end(double began)
{
    static size_t *counter;
    if (plain)
        count_plainly(3, &counter);
    else
        COZ_END("request");
    COZ_PROGRESS_NAMED("answer");
    latencies += now() - began;
    answers++;
}

static void *parse(void *nothing)
{
    for (;;) {
        double began = pop(&parsing);
        if (began >= 0)
            work(parse_work); /* LINE: parse */
        push(&answering, began);
        if (began < 0)
            return nothing;
    }
}

static void *answer(void *nothing)
{
    for (;;) {
        double began = pop(&answering);
        if (began < 0)
            return nothing;
        work(answer_work); /* LINE: answer */
        end(began);
        if (clients && now() - first < seconds)
            begin();
        else if (clients && --clients == 0)
            push(&parsing, -1);
    }
}

/* Between half and one and a half times the mean, the same row of numbers each time. */
static double gap(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return 0.002 * (0.5 + (double)(state >> 40) / (double)(1 << 24));
}

static struct timespec timespec(double time)
{
    struct timespec split;
    split.tv_sec = (time_t)time;
    split.tv_nsec = (long)((time - (double)split.tv_sec) * 1e9);
    return split;
}

/* Another process sends a byte a request, at times that nobody can put off; where to read them. */
static int sender(void)
{
    int ends[2];
    if (pipe(ends))
        exit(2);
    pid_t child = fork();
    if (child < 0)
        exit(2);
    if (child > 0) {
        close(ends[1]);
        return ends[0];
    }
    close(ends[0]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (double next = now(), last = next + seconds; next < last; next += gap()) {
        struct timespec until = timespec(next);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        if (write(ends[1], "r", 1) != 1)
            break;
    }
    _exit(0);
}

int main(int count, char **words)
{
    seconds = option(count, words, "--seconds", 10);
    iters = option(count, words, "--iters", iters);
    parse_work = (long)(0.9 * iters * option(count, words, "--parse", 1));
    answer_work = (long)(0.7 * iters * option(count, words, "--answer", 1));
    int clock = option(count, words, "--clock", 0) > 0;
    clients = (long)option(count, words, "--clients", 0);
    plain = option(count, words, "--plain", 0) > 0;
    check_options(count);

    int requests = clock ? sender() : -1;
    pthread_t stages[2];
    first = now();
    if (pthread_create(&stages[0], NULL, parse, NULL) ||
        pthread_create(&stages[1], NULL, answer, NULL))
        return 2;
    if (clock) {
        char byte;
        while (read(requests, &byte, 1) == 1)
            begin();
        wait(NULL);
    } else if (!clients) {
        while (now() - first < seconds) {
            struct timespec pause = timespec(gap());
            nanosleep(&pause, NULL);
            begin();
        }
    }
    if (clients)
        for (long client = clients; client > 0; client--)
            begin();
    else
        push(&parsing, -1);
    pthread_join(stages[0], NULL);
    pthread_join(stages[1], NULL);
    double took = now() - first;
    printf("rounds %ld seconds %.3f rate %.6g latency %.6g\n", answers, took,
           (double)answers / took, latencies / (double)answers);
    return 0;
}
