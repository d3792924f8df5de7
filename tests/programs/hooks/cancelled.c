/* A thread is cancelled where it waits, inside a hook, in a window: its cleanup handlers run, it
 * ends as cancelled, it is excused from what G grew meanwhile, and the canceller pays first.
 * Prints the number of its cleanups and the pauses of
 * all threads, ms: until it was cancelled, and later. Driven by
 * tests/hooks/cancellation.rs. */
#define _GNU_SOURCE
#include "ledger.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

enum { OWED = 30 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static pthread_t sleeper;
static int ends[2], event, poller;
static volatile int waiter_tid, cleanups, may_go;

static void must(int good)
{
    if (!good) {
        perror("a call failed");
        exit(2);
    }
}

static void unlock(void *held)
{
    cleanups++;
    must(!pthread_mutex_unlock(held));
}

static void count(void *unused)
{
    (void)unused;
    cleanups++;
}

static void in_cond(void)
{
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, &mutex);
    pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
}
static void in_sem(void) { sem_wait(&semaphore); }
static void in_read(void)
{
    char byte;
    must(read(ends[0], &byte, 1) == 1);
}
static void in_poll(void) { poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, -1); }
static void in_epoll(void)
{
    struct epoll_event got;
    epoll_wait(poller, &got, 1, -1);
}
static void in_join(void) { pthread_join(sleeper, NULL); }
static void in_sigwait(void)
{
    sigset_t set;
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigwait(&set, &number);
}
/* A token is there, but the thread was cancelled before: it must not take it. */
static void in_sem_late(void)
{
    while (!may_go) {
    }
    sem_wait(&semaphore);
}

static const struct test {
    const char *name;
    void (*wait)(void);
} tests[] = {
    {"cond_wait", in_cond},   {"sem_wait", in_sem},     {"read", in_read},
    {"poll", in_poll},        {"epoll_wait", in_epoll}, {"join", in_join},
    {"sigwait", in_sigwait},  {"sem_wait_late", in_sem_late},
};

static void *sleep_long(void *unused)
{
    for (;;)
        rest(1000000000);
    return unused;
}

static void *waiter(void *wait)
{
    waiter_tid = gettid();
    _coz_add_delays();
    pthread_cleanup_push(count, NULL);
    (*(void (**)(void))wait)();
    pthread_cleanup_pop(0);
    return NULL;
}

int main(int words, char **word_list)
{
    const struct test *test = NULL;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (words > 1 && !strcmp(word_list[1], "--list"))
            puts(tests[i].name);
        else if (words > 1 && !strcmp(word_list[1], tests[i].name))
            test = tests + i;
    }
    if (!test)
        return 0;
    find_ledger();
    int late = test->wait == in_sem_late;
    must(!pipe(ends) && !sem_init(&semaphore, 0, (unsigned)late));
    event = eventfd(0, 0);
    poller = epoll_create1(0);
    must(!epoll_ctl(poller, EPOLL_CTL_ADD, event, &(struct epoll_event){.events = EPOLLIN}));
    pthread_t thread;
    must(!pthread_create(&sleeper, NULL, sleep_long, NULL));
    must(!pthread_create(&thread, NULL, waiter, (void *)&test->wait));
    while (!waiter_tid)
        rest(MILLISECOND / 4);
    if (late)
        rest(2 * MILLISECOND);
    else {
        until_asleep(waiter_tid);
        raise_g(OWED * MILLISECOND);
    }
    uint64_t before = *word(at[ALL_PAUSED]);
    must(!pthread_cancel(thread));
    uint64_t at_cancel = *word(at[ALL_PAUSED]);
    may_go = 1;
    void *result;
    must(!pthread_join(thread, &result) && result == PTHREAD_CANCELED);
    uint64_t after = *word(at[ALL_PAUSED]);
    if (late) {
        int value;
        must(!sem_getvalue(&semaphore, &value) && value == 1);
    }
    /* What it held is free again, and the hooks still work. */
    must(!pthread_mutex_lock(&mutex) && !pthread_mutex_unlock(&mutex));
    printf("cleanups %d paused %.3f later %.3f\n", cleanups, (double)(at_cancel - before) / 1e6,
           (double)(after - at_cancel) / 1e6);
    return 0;
}
