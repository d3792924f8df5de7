/* The ways in which threads come and go. */
#include "busy.h"
#include <sched.h>
#include <sys/syscall.h>

static pthread_barrier_t all_here;
static volatile long done;
static pthread_t early;
static int early_made;

static void *short_work(void *unused)
{
    for (int at = 0; at < 20000; at++)
        busy_sink += at;
    __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
    return unused;
}

/* Runs before main, and before whatever is preloaded has set itself up. */
__attribute__((constructor)) static void make_early(void)
{
    early_made = pthread_create(&early, NULL, short_work, NULL) == 0;
}

static void *wait_for_all(void *argument)
{
    short_work(NULL);
    pthread_barrier_wait(&all_here);
    short_work(NULL);
    pthread_barrier_wait(&all_here);
    return argument;
}

/* So many threads alive at once. */
static void many(long number)
{
    pthread_t *threads = calloc((size_t)number, sizeof *threads);
    pthread_attr_t attributes;
    long sum = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    pthread_barrier_init(&all_here, NULL, (unsigned)number + 1);
    for (long at = 0; at < number; at++)
        check(pthread_create(&threads[at], &attributes, wait_for_all, (void *)at) == 0, "a thread");
    pthread_barrier_wait(&all_here);
    pthread_barrier_wait(&all_here);
    for (long at = 0; at < number; at++) {
        void *value;
        pthread_join(threads[at], &value);
        sum += (long)value;
    }
    printf("%ld threads worked, sum %ld\n", done, sum);
}

/* One short thread after another, two at a time. */
static void storm(long number)
{
    for (long at = 0; at < number; at += 2) {
        pthread_t threads[2];
        check(pthread_create(&threads[0], NULL, short_work, NULL) == 0, "a thread");
        check(pthread_create(&threads[1], NULL, short_work, NULL) == 0, "a thread");
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
    }
    printf("%ld threads worked\n", done);
}

static void *exits(void *argument)
{
    spin_ms(5);
    pthread_exit(argument);
}

static void cleaned(void *argument)
{
    __atomic_fetch_add((long *)argument, 1, __ATOMIC_RELAXED);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int ready;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void unlock(void *unused)
{
    (void)unused;
    pthread_mutex_unlock(&lock);
}

static void *cancelled_in_wait(void *cleanups)
{
    pthread_cleanup_push(cleaned, cleanups);
    ready = 1;
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, NULL);
    for (;;)
        pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(1);
    return NULL;
}

static void *sleeps(void *unused)
{
    sleep(1000);
    return unused;
}

static void *cancelled_in_join(void *cleanups)
{
    pthread_t sleeper;
    pthread_create(&sleeper, NULL, sleeps, NULL);
    pthread_detach(sleeper);
    pthread_cleanup_push(cleaned, cleanups);
    ready = 1;
    /* A cancellation point, like the wait above. */
    sleep(1000);
    pthread_cleanup_pop(1);
    return NULL;
}

static void *cancelled_at_work(void *cleanups)
{
    pthread_cleanup_push(cleaned, cleanups);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    ready = 1;
    for (;;)
        busy_sink++;
    pthread_cleanup_pop(1);
    return NULL;
}

static volatile int clone_id, clone_worked;

/* Shares everything with the thread that made it, its thread-local storage too: no libc here. */
static int raw_thread(void *unused)
{
    unsigned long state = 1;
    (void)unused;
    for (long at = 0; at < 100000000; at++)
        state = state * 6364136223846793005UL + 1;
    busy_sink = state;
    clone_worked = 1;
    return 0;
}

static void raw_clone(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    int made = clone(raw_thread, stack + sizeof stack, flags, NULL, &clone_id, NULL, &clone_id);
    check(made > 0, "clone");
    while (clone_id != 0)
        usleep(2000);
    printf("clone worked %d\n", clone_worked);
}

static void kinds(void)
{
    static void *(*const cancelled[])(void *) = {cancelled_in_wait, cancelled_in_join,
                                                 cancelled_at_work};
    long cleanups = 0;
    pthread_t thread;
    pthread_attr_t attributes;
    void *value;
    check(early_made && pthread_join(early, NULL) == 0, "the early thread");
    for (int round = 0; round < 10; round++) {
        pthread_create(&thread, NULL, exits, (void *)(long)round);
        pthread_join(thread, &value);
        check((long)value == round, "the value of pthread_exit");
    }
    for (int round = 0; round < 30; round++) {
        ready = 0;
        pthread_create(&thread, NULL, cancelled[round % 3], &cleanups);
        while (!ready)
            usleep(500);
        usleep(2000);
        check(pthread_cancel(thread) == 0, "pthread_cancel");
        pthread_join(thread, &value);
        check(value == PTHREAD_CANCELED, "the value of a cancelled thread");
    }
    printf("cleanups %ld\n", cleanups);
    done = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (int round = 0; round < 100; round++)
        pthread_create(&thread, &attributes, short_work, NULL);
    while (done < 100)
        usleep(1000);
    puts("detached threads worked");
    raw_clone();
}

static void *last(void *unused)
{
    spin_ms(200);
    puts("the last thread ends");
    busy_goes_on = 0;
    return unused;
}

int main(int words, char **word)
{
    const char *what = words > 1 ? word[1] : "";
    long number = words > 2 ? atol(word[2]) : 0;
    busy_start();
    if (strcmp(what, "main-exits") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, last, NULL);
        pthread_exit(NULL);
    }
    if (strcmp(what, "kinds") == 0) {
        kinds();
    } else {
        check(early_made && pthread_join(early, NULL) == 0, "the early thread");
        done = 0;
        if (strcmp(what, "many") == 0)
            many(number);
        else if (strcmp(what, "storm") == 0)
            storm(number);
    }
    busy_stop();
    return 0;
}
