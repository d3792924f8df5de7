/* Passes one place wherever a breakpoint at it could do harm: in handlers that block all signals,
 * while waits put masks in force, in threads that block everything, inside its own SIGTRAP handler,
 * in a child, and behind a filter of system calls. Prints how often before that filter. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long sink;
static volatile long ticks, traps;
extern char **environ;

__attribute__((noinline)) void tick(void)
{
    sink += 3; /* LINE: tick */
}

static void count(void)
{
    ticks++;
    tick();
}

static void check(int good, const char *what)
{
    if (!good) {
        printf("failed: %s (%s)\n", what, strerror(errno));
        fflush(stdout);
        _exit(99);
    }
}

static void on_signal(int signal)
{
    (void)signal;
    count();
}

static void on_trap(int signal)
{
    (void)signal;
    traps++;
    count();
}

static void handle(int signal, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler}, old;
    sigfillset(&action.sa_mask);
    check(sigaction(signal, &action, NULL) == 0, "sigaction");
    check(sigaction(signal, NULL, &old) == 0, "asking");
    check(old.sa_handler == handler, "the handler that is told");
    check(sigismember(&old.sa_mask, SIGTRAP) == 1, "the mask that is told");
}

/* A signal that comes while a wait has all others blocked. */
static void waits(void)
{
    struct pollfd none = {-1, 0, 0};
    struct timespec limit = {1, 0};
    struct epoll_event event;
    sigset_t one, all;
    int set = epoll_create1(EPOLL_CLOEXEC);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    check(sigprocmask(SIG_BLOCK, &one, NULL) == 0, "sigprocmask");
    sigfillset(&all);
    sigdelset(&all, SIGUSR1);
    raise(SIGUSR1);
    check(sigsuspend(&all) == -1 && errno == EINTR, "sigsuspend");
    raise(SIGUSR1);
    check(ppoll(&none, 1, &limit, &all) == -1 && errno == EINTR, "ppoll");
    raise(SIGUSR1);
    check(pselect(0, NULL, NULL, NULL, &limit, &all) == -1 && errno == EINTR, "pselect");
    raise(SIGUSR1);
    check(epoll_pwait(set, &event, 1, 1000, &all) == -1 && errno == EINTR, "epoll_pwait");
    check(sigprocmask(SIG_UNBLOCK, &one, NULL) == 0, "sigprocmask");
    close(set);
}

/* The kernel's own structure, past sigaction. */
static void raw_handler(void)
{
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        unsigned long mask;
    } action;
    check(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &action, 8) == 0, "asking the kernel");
    action.mask = ~0UL;
    check(syscall(SYS_rt_sigaction, SIGUSR2, &action, NULL, 8) == 0, "rt_sigaction");
    for (int round = 0; round < 10; round++)
        raise(SIGUSR2);
}

static void *blocked(void *unused)
{
    sigset_t all;
    sigfillset(&all);
    check(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0, "pthread_sigmask");
    for (int round = 0; round < 100; round++)
        tick();
    return unused;
}

static void filter(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
    check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
}

int main(void)
{
    pthread_t threads[2];
    pthread_attr_t attributes;
    sigset_t all, before;
    pid_t pid;
    char *words[] = {"true", NULL};
    handle(SIGUSR1, on_signal);
    for (int round = 0; round < 10; round++)
        raise(SIGUSR1);
    waits();
    raw_handler();

    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setsigmask_np(&attributes, &all);
    sigprocmask(SIG_SETMASK, &all, &before);
    count();
    pthread_create(&threads[0], NULL, blocked, NULL);
    pthread_create(&threads[1], &attributes, blocked, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    ticks += 200;

    handle(SIGTRAP, on_trap);
    for (int round = 0; round < 10; round++) {
        __asm__ volatile("int3");
        count();
        raise(SIGTRAP);
    }
    signal(SIGTRAP, SIG_DFL);

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        for (int round = 0; round < 50; round++)
            tick();
        _exit(7);
    }
    int status = 0;
    check(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7, "the child");
    ticks += 50;
    check(posix_spawnp(&pid, "true", NULL, NULL, words, environ) == 0, "posix_spawnp");
    check(waitpid(pid, &status, 0) == pid && status == 0, "the program");

    printf("tick %ld\n", ticks);
    fflush(stdout);
    filter();
    for (int round = 0; round < 10; round++)
        tick();
    check(traps == 20, "traps");
    return 0;
}
