/* What programs do with signals. The first argument says what is done; what is printed must be the
 * same with and without the profiler. */
#include "busy.h"
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

static volatile sig_atomic_t count, kernel_code, thread_code, process_code, mask_is_right = 1;

static void on_prof(int signal)
{
    (void)signal;
    count++;
}

/* A timer's hit, with those that came while it was pending: the kernel looks for them at its ticks
 * only, and finds several at once where the process seldom runs at one. */
static void on_timer(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    count += 1 + (info->si_code == SI_TIMER ? info->si_overrun : 0);
}

/* Its own profiler: hits for each second of CPU time. Counted by the clock that it is measured by:
 * ITIMER_PROF goes by ticks, of which a thread that sleeps often is charged other numbers. */
static void prof(void)
{
    struct sigaction action = {.sa_handler = on_prof, .sa_flags = SA_RESTART};
    struct itimerval each = {{0, 10000}, {0, 10000}};
    struct itimerspec precise = {{0, 10000000}, {0, 10000000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    timer_t timer;
    long begin, used;
    sigaction(SIGPROF, &action, NULL);
    begin = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    setitimer(ITIMER_PROF, &each, NULL);
    spin_ms(100);
    check(count > 3, "ITIMER_PROF");
    memset(&each, 0, sizeof each);
    setitimer(ITIMER_PROF, &each, NULL);
    check(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) == 0, "timer_create");
    action.sa_sigaction = on_timer;
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    sigaction(SIGPROF, &action, NULL);
    count = 0;
    begin = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    timer_settime(timer, 0, &precise, NULL);
    do {
        spin_ms(20);
        used = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - begin;
    } while (used < 1500);
    timer_delete(timer);
    printf("%ld\n", count * 1000L / used);
}

/* Hits of ITIMER_PROF for each second of CPU time, as for many programs' own profilers. */
static void itimer(void)
{
    struct sigaction action = {.sa_handler = on_prof, .sa_flags = SA_RESTART};
    struct itimerval each = {{0, 10000}, {0, 10000}};
    long begin, used;
    sigaction(SIGPROF, &action, NULL);
    begin = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    setitimer(ITIMER_PROF, &each, NULL);
    do {
        spin_ms(20);
        used = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - begin;
    } while (used < 4000);
    memset(&each, 0, sizeof each);
    setitimer(ITIMER_PROF, &each, NULL);
    printf("%.2f\n", (double)count * 1000.0 / (double)used);
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    sigset_t now;
    (void)signal;
    count++;
    kernel_code += info->si_code == SI_KERNEL;
    thread_code += info->si_code == SI_TKILL;
    process_code += info->si_code == SI_USER;
    /* The mask is that of the interrupted code, the action's own, and the signal itself. */
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    if (!sigismember(&now, SIGUSR1) || sigismember(&now, SIGUSR2))
        mask_is_right = 0;
    if (((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] == 0)
        mask_is_right = 0;
}

static void on_trap_once(int signal)
{
    (void)signal;
    count++;
}

/* Its own use of SIGTRAP. */
static void trap(void)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, old;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR1);
    check(sigaction(SIGTRAP, &action, NULL) == 0, "sigaction");
    for (int round = 0; round < 100; round++) {
        __asm__ volatile("int3");
        raise(SIGTRAP);
        kill(getpid(), SIGTRAP);
        spin_ms(1);
    }
    check(sigaction(SIGTRAP, NULL, &old) == 0, "asking");
    check(old.sa_sigaction == on_trap, "the handler that is told");
    check((old.sa_flags & SA_SIGINFO) != 0, "the flags that are told");
    check(sigismember(&old.sa_mask, SIGUSR1) == 1, "the mask that is told");
    printf("traps %d by kernel %d by thread %d by process %d mask %d\n", count, kernel_code,
           thread_code, process_code, mask_is_right);
    signal(SIGTRAP, SIG_IGN);
    raise(SIGTRAP);
    check(signal(SIGTRAP, on_trap_once) == SIG_IGN, "the action before");
    count = 0;
    raise(SIGTRAP);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_trap_once;
    action.sa_flags = (int)SA_RESETHAND;
    sigaction(SIGTRAP, &action, NULL);
    raise(SIGTRAP);
    sigaction(SIGTRAP, NULL, &old);
    printf("then %d, afterwards %s\n", count, old.sa_handler == SIG_DFL ? "default" : "other");
}

static void *spin_attr(void *unused)
{
    long end = clock_ms(CLOCK_THREAD_CPUTIME_ID) + 500;
    while (clock_ms(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int at = 0; at < 200000; at++)
            busy_sink += at; /* LINE: attr */
    return unused;
}

static void *spin_library(void *unused)
{
    long end;
    sigset_t all;
    sigfillset(&all);
    check(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0, "pthread_sigmask");
    end = clock_ms(CLOCK_THREAD_CPUTIME_ID) + 500;
    while (clock_ms(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int at = 0; at < 200000; at++)
            busy_sink += at; /* LINE: library */
    return unused;
}

static void *spin_raw(void *unused)
{
    long end;
    unsigned long all = ~0UL;
    check(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8) == 0, "rt_sigprocmask");
    end = clock_ms(CLOCK_THREAD_CPUTIME_ID) + 500;
    while (clock_ms(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int at = 0; at < 200000; at++)
            busy_sink += at; /* LINE: raw */
    return unused;
}

static void *spin_inherited(void *unused)
{
    long end = clock_ms(CLOCK_THREAD_CPUTIME_ID) + 500;
    while (clock_ms(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int at = 0; at < 200000; at++)
            busy_sink += at * 3; /* LINE: inherited */
    return unused;
}

/* All signals blocked, in every way there is. */
static void blocked(void)
{
    pthread_t threads[4];
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setsigmask_np(&attributes, &all);
    pthread_create(&threads[0], &attributes, spin_attr, NULL);
    pthread_create(&threads[1], NULL, spin_library, NULL);
    pthread_create(&threads[2], NULL, spin_raw, NULL);
    sigprocmask(SIG_BLOCK, &all, &before);
    pthread_create(&threads[3], NULL, spin_inherited, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    for (int at = 0; at < 4; at++)
        pthread_join(threads[at], NULL);
    puts("spun");
}

/* Waits that end by their time-out; the work between them brings samples. */
static void *wait_and_work(void *unused)
{
    long interrupted = 0, other = 0;
    int pair[2], set = epoll_create1(EPOLL_CLOEXEC);
    struct timeval limit = {0, 1000};
    struct epoll_event event;
    sem_t never;
    char byte;
    sem_init(&never, 0, 0);
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    for (int round = 0; round < 60; round++) {
        struct timespec rest = {0, 1000000}, until;
        struct timeval wait = {0, 1000};
        struct pollfd one = {pair[0], POLLIN, 0};
        fd_set readable;
        int failed[7];
        FD_ZERO(&readable);
        FD_SET(pair[0], &readable);
        spin_ms(2);
        failed[0] = poll(&one, 1, 1) < 0 ? errno : 0;
        failed[1] = epoll_wait(set, &event, 1, 1) < 0 ? errno : 0;
        failed[2] = nanosleep(&rest, NULL) < 0 ? errno : 0;
        failed[3] = select(pair[0] + 1, &readable, NULL, NULL, &wait) < 0 ? errno : 0;
        failed[4] = recv(pair[0], &byte, 1, 0) < 0 && errno != EAGAIN ? errno : 0;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec = (until.tv_nsec + 1000000) % 1000000000;
        until.tv_sec += until.tv_nsec < 1000000;
        failed[5] = sem_timedwait(&never, &until) < 0 && errno != ETIMEDOUT ? errno : 0;
        failed[6] = clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, NULL);
        for (int at = 0; at < 7; at++) {
            interrupted += failed[at] == EINTR;
            other += failed[at] != 0 && failed[at] != EINTR;
        }
    }
    printf("interrupted %ld, other %ld\n", interrupted, other);
    return unused;
}

static void eintr(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_and_work, NULL);
    wait_and_work(NULL);
    pthread_join(thread, NULL);
}

static void *spin_on_small_stack(void *unused)
{
    spin_ms(150);
    return unused;
}

static void on_user(int signal)
{
    (void)signal;
    spin_ms(60);
    count++;
}

static void *spin_on_alternate_stack(void *unused)
{
    /* As large as Rust's, and below it no guard page. */
    stack_t stack = {.ss_sp = malloc(8192), .ss_size = 8192}, none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_handler = on_user, .sa_flags = SA_ONSTACK};
    check(sigaltstack(&stack, NULL) == 0, "sigaltstack");
    sigaction(SIGUSR1, &action, NULL);
    for (int round = 0; round < 3; round++)
        pthread_kill(pthread_self(), SIGUSR1);
    spin_ms(30);
    sigaltstack(&none, NULL);
    free(stack.ss_sp);
    return unused;
}

/* The smallest stacks that there are. */
static void stacks(void)
{
    pthread_t threads[9];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    check(pthread_attr_setstacksize(&attributes, 16384) == 0, "16 KiB");
    for (int at = 0; at < 8; at++)
        check(pthread_create(&threads[at], &attributes, spin_on_small_stack, NULL) == 0, "thread");
    pthread_create(&threads[8], NULL, spin_on_alternate_stack, NULL);
    for (int at = 0; at < 9; at++)
        pthread_join(threads[at], NULL);
    printf("handled %d\n", count);
}

/* Ends by a signal of its own. */
static void die(const char *how)
{
    spin_ms(150);
    puts("dying");
    fflush(stdout);
    if (strcmp(how, "segv") == 0)
        *(volatile int *)strtoul("8", NULL, 10) = 1;
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "int3") == 0)
        __asm__ volatile("int3");
    else
        raise(atoi(how));
    puts("survived");
}

int main(int words, char **word)
{
    const char *what = words > 1 ? word[1] : "";
    busy_start();
    if (strcmp(what, "prof") == 0)
        prof();
    else if (strcmp(what, "itimer") == 0)
        itimer();
    else if (strcmp(what, "trap") == 0)
        trap();
    else if (strcmp(what, "blocked") == 0)
        blocked();
    else if (strcmp(what, "eintr") == 0)
        eintr();
    else if (strcmp(what, "stacks") == 0)
        stacks();
    else if (strcmp(what, "die") == 0 && words > 2)
        die(word[2]);
    busy_stop();
    return 0;
}
