/* One thread waits, another one, who owes a pause, wakes it. Prints what the ledger says then:
 *   excused  what the waiter was excused from, ms
 *   paused   what the waiter slept for the ledger, ms
 *   late     from before the waker's call to the waiter's going on, ms
 * for the case named by the first argument. Driven by tests/hooks_wake.rs. */
#define _GNU_SOURCE
#include "ledger.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <threads.h>

enum { OWED = 30 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static once_flag flag = ONCE_FLAG_INIT;
static sem_t semaphore;
static mtx_t mtx;
static cnd_t cnd;
static pthread_t waiter_handle;
static int futex_word, ends[2] = {-1, -1}, event = -1, poller = -1;
static volatile int waiter_tid, ready, open_gate;
static uint64_t went_on, waiter_excused, waiter_paused, woken_at;
static char byte;

static struct timespec later(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_sec += 60;
    return time;
}

static void must(int good)
{
    if (!good) {
        perror("a call failed");
        exit(2);
    }
}

#define REALTIME (struct timespec[]){later(CLOCK_REALTIME)}
#define MONOTONIC (struct timespec[]){later(CLOCK_MONOTONIC)}
#define MINUTE (struct timespec[]){{60, 0}}

/* ---- what the waiter does, and what the waker does; the waker begins by holding what is held */

static void lock(void) { must(!pthread_mutex_lock(&mutex)); }
static void unlock(void) { must(!pthread_mutex_unlock(&mutex)); }
static void timedlock(void) { must(!pthread_mutex_timedlock(&mutex, REALTIME)); }
static void clocklock(void) { must(!pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, MONOTONIC)); }

static void cond_wait(void)
{
    pthread_mutex_lock(&mutex);
    must(!pthread_cond_wait(&condition, &mutex));
    pthread_mutex_unlock(&mutex);
}
static void cond_timedwait(void)
{
    pthread_mutex_lock(&mutex);
    must(!pthread_cond_timedwait(&condition, &mutex, REALTIME));
    pthread_mutex_unlock(&mutex);
}
static void cond_clockwait(void)
{
    pthread_mutex_lock(&mutex);
    must(!pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, MONOTONIC));
    pthread_mutex_unlock(&mutex);
}
static void cond_signal(void) { must(!pthread_cond_signal(&condition)); }
static void cond_broadcast(void) { must(!pthread_cond_broadcast(&condition)); }

static void hold_write(void) { must(!pthread_rwlock_wrlock(&rwlock)); }
static void hold_read(void) { must(!pthread_rwlock_rdlock(&rwlock)); }
static void rdlock(void) { must(!pthread_rwlock_rdlock(&rwlock)); }
static void timedrdlock(void) { must(!pthread_rwlock_timedrdlock(&rwlock, REALTIME)); }
static void clockrdlock(void) { must(!pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, MONOTONIC)); }
static void wrlock(void) { must(!pthread_rwlock_wrlock(&rwlock)); }
static void timedwrlock(void) { must(!pthread_rwlock_timedwrlock(&rwlock, REALTIME)); }
static void clockwrlock(void) { must(!pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, MONOTONIC)); }
static void rwunlock(void) { must(!pthread_rwlock_unlock(&rwlock)); }

static void new_barrier(void) { must(!pthread_barrier_init(&barrier, NULL, 2)); }
static void barrier_wait(void) { pthread_barrier_wait(&barrier); }

static void new_spin(void)
{
    must(!pthread_spin_init(&spin, 0));
    must(!pthread_spin_lock(&spin));
}
static void spin_lock(void) { must(!pthread_spin_lock(&spin)); }
static void spin_unlock(void) { must(!pthread_spin_unlock(&spin)); }

/* The waker runs the routine, which lasts until the waiter waits for its end. */
static void routine(void)
{
    ready = 1;
    while (!open_gate)
        rest(MILLISECOND / 4);
    until_asleep(waiter_tid);
    raise_g(OWED * MILLISECOND);
    woken_at = now();
}
static void after_routine_began(void)
{
    while (!ready)
        rest(MILLISECOND / 4);
}
static void once_wait(void)
{
    after_routine_began();
    must(!pthread_once(&once, routine));
}
static void once_run(void) { must(!pthread_once(&once, routine)); }
static void call_once_wait(void)
{
    after_routine_began();
    call_once(&flag, routine);
}
static void call_once_run(void) { call_once(&flag, routine); }

static void new_semaphore(void) { must(!sem_init(&semaphore, 0, 0)); }
static void wait_sem(void) { must(!sem_wait(&semaphore)); }
static void timedwait_sem(void) { must(!sem_timedwait(&semaphore, REALTIME)); }
static void clockwait_sem(void) { must(!sem_clockwait(&semaphore, CLOCK_MONOTONIC, MONOTONIC)); }
static void post(void) { must(!sem_post(&semaphore)); }

static void new_mtx(void)
{
    must(mtx_init(&mtx, mtx_timed) == thrd_success);
    must(mtx_lock(&mtx) == thrd_success);
}
static void lock_mtx(void) { must(mtx_lock(&mtx) == thrd_success); }
static void timedlock_mtx(void) { must(mtx_timedlock(&mtx, REALTIME) == thrd_success); }
static void unlock_mtx(void) { must(mtx_unlock(&mtx) == thrd_success); }
static void new_cnd(void)
{
    must(mtx_init(&mtx, mtx_timed) == thrd_success);
    must(cnd_init(&cnd) == thrd_success);
}
static void wait_cnd(void)
{
    mtx_lock(&mtx);
    must(cnd_wait(&cnd, &mtx) == thrd_success);
    mtx_unlock(&mtx);
}
static void timedwait_cnd(void)
{
    mtx_lock(&mtx);
    must(cnd_timedwait(&cnd, &mtx, REALTIME) == thrd_success);
    mtx_unlock(&mtx);
}
static void signal_cnd(void) { must(cnd_signal(&cnd) == thrd_success); }
static void broadcast_cnd(void) { must(cnd_broadcast(&cnd) == thrd_success); }

static void futex_wait(void) { must(!syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, MINUTE, NULL, 0)); }
static void futex_wait_bitset(void) { must(!syscall(SYS_futex, &futex_word, FUTEX_WAIT_BITSET_PRIVATE, 0, MONOTONIC, NULL, 1)); }
static void futex_wake(void) { must(syscall(SYS_futex, &futex_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 1); }
static void futex_wake_bitset(void) { must(syscall(SYS_futex, &futex_word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 1) == 1); }

static sigset_t signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGRTMIN);
    return set;
}
static void block_signals(void) { must(!pthread_sigmask(SIG_BLOCK, (sigset_t[]){signals()}, NULL)); }
static void wait_signal(void)
{
    int number;
    must(!sigwait((sigset_t[]){signals()}, &number) && (number == SIGUSR1 || number == SIGRTMIN));
}
static void wait_signal_info(void)
{
    siginfo_t info;
    must(sigwaitinfo((sigset_t[]){signals()}, &info) > 0);
}
static void wait_signal_time(void) { must(sigtimedwait((sigset_t[]){signals()}, NULL, MINUTE) > 0); }
static void send_kill(void) { must(!kill(getpid(), SIGUSR1)); }
static void send_pthread(void) { must(!pthread_kill(waiter_handle, SIGUSR1)); }
static void send_tgkill(void) { must(!tgkill(getpid(), waiter_tid, SIGUSR1)); }
static void send_by_number(void) { must(!syscall(SYS_tgkill, getpid(), waiter_tid, SIGUSR1)); }
static void send_queue(void) { must(!sigqueue(getpid(), SIGRTMIN, (union sigval){0})); }
static void send_pthread_queue(void) { must(!pthread_sigqueue(waiter_handle, SIGRTMIN, (union sigval){0})); }

static void new_pipe(void) { must(!pipe(ends)); }
static void new_pipe2(void) { must(!pipe2(ends, O_CLOEXEC)); }
static void new_pair(void) { must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends)); }
static void new_event(void) { must((event = eventfd(0, EFD_CLOEXEC)) >= 0); }
static void new_full_pipe(void)
{
    must(!pipe2(ends, O_NONBLOCK));
    while (write(ends[1], &byte, 1) == 1) {
    }
    must(!fcntl(ends[1], F_SETFL, 0) && !fcntl(ends[0], F_SETFL, 0));
}
static void read_pipe(void) { must(read(ends[0], &byte, 1) == 1); }
static void read_end(void) { must(read(ends[0], &byte, 1) == 0); }
static void readv_pipe(void) { must(readv(ends[0], &(struct iovec){&byte, 1}, 1) == 1); }
static void recv_pair(void) { must(recv(ends[0], &byte, 1, 0) == 1); }
static void recvfrom_pair(void) { must(recvfrom(ends[0], &byte, 1, 0, NULL, NULL) == 1); }
static void recvmsg_pair(void)
{
    struct iovec part = {&byte, 1};
    must(recvmsg(ends[0], &(struct msghdr){.msg_iov = &part, .msg_iovlen = 1}, 0) == 1);
}
static void read_event(void)
{
    uint64_t value;
    must(read(event, &value, 8) == 8);
}
static void eventfd_read_event(void)
{
    eventfd_t value;
    must(!eventfd_read(event, &value));
}
static void write_pipe(void) { must(write(ends[1], &byte, 1) == 1); }
static void writev_pipe(void) { must(writev(ends[1], &(struct iovec){&byte, 1}, 1) == 1); }
static void send_pair(void) { must(send(ends[1], &byte, 1, 0) == 1); }
static void sendto_pair(void) { must(sendto(ends[1], &byte, 1, 0, NULL, 0) == 1); }
static void sendmsg_pair(void)
{
    struct iovec part = {&byte, 1};
    must(sendmsg(ends[1], &(struct msghdr){.msg_iov = &part, .msg_iovlen = 1}, 0) == 1);
}
static void write_event(void) { must(write(event, (uint64_t[]){1}, 8) == 8); }
static void eventfd_write_event(void) { must(!eventfd_write(event, 1)); }
static void close_pipe(void) { must(!close(ends[1])); }
static void shutdown_pair(void) { must(!shutdown(ends[1], SHUT_WR)); }
static void drain_pipe(void)
{
    static char page[4096];
    must(read(ends[0], page, sizeof page) == sizeof page);
}
static void dup_write(void)
{
    int copy = dup(ends[1]);
    must(copy >= 0 && write(copy, &byte, 1) == 1);
}
static void dup2_write(void)
{
    int copy = dup2(ends[1], 200);
    must(copy == 200 && write(copy, &byte, 1) == 1);
}
static void dup3_write(void)
{
    int copy = dup3(ends[1], 201, O_CLOEXEC);
    must(copy == 201 && write(copy, &byte, 1) == 1);
}

static void fcntl_write(void)
{
    int copy = fcntl(ends[1], F_DUPFD_CLOEXEC, 0);
    must(copy >= 0 && write(copy, &byte, 1) == 1);
}

static void poll_pipe(void) { must(poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, 60000) == 1); }
static void ppoll_pipe(void) { must(ppoll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, MINUTE, NULL) == 1); }
static void poll_room(void) { must(poll(&(struct pollfd){.fd = ends[1], .events = POLLOUT}, 1, 60000) == 1); }
static void select_pipe(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    must(select(ends[0] + 1, &set, NULL, NULL, &(struct timeval){60, 0}) == 1);
}
static void pselect_pipe(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    must(pselect(ends[0] + 1, &set, NULL, NULL, MINUTE, NULL) == 1);
}
static void watch(int fd, uint64_t word_of_mine)
{
    struct epoll_event wanted = {.events = EPOLLIN | EPOLLET, .data.u64 = word_of_mine};
    must(!epoll_ctl(poller, EPOLL_CTL_ADD, fd, &wanted));
}
static void new_poller(void)
{
    new_event();
    must((poller = epoll_create1(EPOLL_CLOEXEC)) >= 0);
    watch(event, UINT64_MAX);
}
static void epoll_event(void)
{
    struct epoll_event got[4];
    must(epoll_wait(poller, got, 4, 60000) == 1);
}
static void epoll_event_mask(void)
{
    struct epoll_event got[4];
    must(epoll_pwait(poller, got, 4, 60000, NULL) == 1);
}
static void epoll_event_precise(void)
{
    struct epoll_event got[4];
    must(epoll_pwait2(poller, got, 4, MINUTE, NULL) == 1);
}

/* ---- the end of a third thread, which is the waker then */

static pthread_t ending_handle;
static thrd_t ending_thrd;
static volatile int may_end;
static void end_when_told(void)
{
    while (!may_end)
        rest(MILLISECOND / 4);
    _coz_add_delays();
}
static void *ending(void *unused)
{
    end_when_told();
    return unused;
}
static int ending_c11(void *unused)
{
    (void)unused;
    end_when_told();
    thrd_exit(-5);
}
static void new_ending(void) { must(!pthread_create(&ending_handle, NULL, ending, NULL)); }
static void new_ending_c11(void) { must(thrd_create(&ending_thrd, ending_c11, NULL) == thrd_success); }
static void tell_ending(void) { may_end = 1; }
static void join(void) { must(!pthread_join(ending_handle, NULL)); }
static void join_timed(void) { must(!pthread_timedjoin_np(ending_handle, NULL, REALTIME)); }
static void join_clock(void) { must(!pthread_clockjoin_np(ending_handle, NULL, CLOCK_MONOTONIC, MONOTONIC)); }
static void join_c11(void)
{
    int result;
    must(thrd_join(ending_thrd, &result) == thrd_success && result == -5);
}

/* ---- ends that nobody of this process brought about: no excuse */

static pid_t child;
/* A child that writes into the pipe when it is told to by a signal. */
static void new_pipe_of_child(void)
{
    new_pipe();
    block_signals();
    if ((child = fork()) == 0) {
        int number;
        sigwait((sigset_t[]){signals()}, &number);
        _exit(write(ends[1], &byte, 1) != 1);
    }
    must(child > 0);
}
static void tell_child(void) { must(!kill(child, SIGUSR1)); }
static void new_poller_of_child(void)
{
    new_pipe_of_child();
    new_poller();
    watch(ends[0], 1);
}
static void timed_out_lock(void)
{
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 50 * MILLISECOND;
    soon.tv_sec += soon.tv_nsec / 1000000000;
    soon.tv_nsec %= 1000000000;
    must(pthread_mutex_timedlock(&mutex, &soon) == ETIMEDOUT);
}
static void timed_out_poll(void) { must(poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, 50) == 0); }
#define SOON (struct timespec[]){{0, 50 * MILLISECOND}}
static void timed_out_select(void) { must(select(0, NULL, NULL, NULL, (struct timeval[]){{0, 50000}}) == 0); }
static void timed_out_futex(void) { must(syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, SOON) == -1 && errno == ETIMEDOUT); }
static void timed_out_semaphore(void)
{
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec++;
    must(sem_timedwait(&semaphore, &soon) == -1 && errno == ETIMEDOUT);
}
static void sleep_by_nanosleep(void) { must(!nanosleep(SOON, NULL)); }
static void sleep_by_clock(void) { must(!clock_nanosleep(CLOCK_MONOTONIC, 0, SOON, NULL)); }
static void sleep_by_usleep(void) { must(!usleep(50000)); }
static void sleep_by_sleep(void) { must(!sleep(1)); }
static void sleep_by_thrd_sleep(void) { must(!thrd_sleep(SOON, NULL)); }
static void nothing(void) {}

struct test {
    const char *name;
    void (*prepare)(void), (*wait)(void), (*wake)(void);
    enum { SLEEPS, SPINS, ROUTINE } how;
};

static const struct test tests[] = {
    {"mutex_lock", lock, lock, unlock, SLEEPS},
    {"mutex_timedlock", lock, timedlock, unlock, SLEEPS},
    {"mutex_clocklock", lock, clocklock, unlock, SLEEPS},
    {"cond_wait", nothing, cond_wait, cond_signal, SLEEPS},
    {"cond_timedwait", nothing, cond_timedwait, cond_signal, SLEEPS},
    {"cond_clockwait", nothing, cond_clockwait, cond_broadcast, SLEEPS},
    {"rwlock_rdlock", hold_write, rdlock, rwunlock, SLEEPS},
    {"rwlock_timedrdlock", hold_write, timedrdlock, rwunlock, SLEEPS},
    {"rwlock_clockrdlock", hold_write, clockrdlock, rwunlock, SLEEPS},
    {"rwlock_wrlock", hold_read, wrlock, rwunlock, SLEEPS},
    {"rwlock_wrlock_after_writer", hold_write, wrlock, rwunlock, SLEEPS},
    {"rwlock_timedwrlock", hold_read, timedwrlock, rwunlock, SLEEPS},
    {"rwlock_clockwrlock", hold_read, clockwrlock, rwunlock, SLEEPS},
    {"barrier", new_barrier, barrier_wait, barrier_wait, SLEEPS},
    {"spin", new_spin, spin_lock, spin_unlock, SPINS},
    {"once", nothing, once_wait, once_run, ROUTINE},
    {"join", new_ending, join, tell_ending, SLEEPS},
    {"join_timed", new_ending, join_timed, tell_ending, SLEEPS},
    {"join_clock", new_ending, join_clock, tell_ending, SLEEPS},
    {"thrd_join", new_ending_c11, join_c11, tell_ending, SLEEPS},
    {"sem_wait", new_semaphore, wait_sem, post, SLEEPS},
    {"sem_timedwait", new_semaphore, timedwait_sem, post, SLEEPS},
    {"sem_clockwait", new_semaphore, clockwait_sem, post, SLEEPS},
    {"mtx_lock", new_mtx, lock_mtx, unlock_mtx, SLEEPS},
    {"mtx_timedlock", new_mtx, timedlock_mtx, unlock_mtx, SLEEPS},
    {"cnd_wait", new_cnd, wait_cnd, signal_cnd, SLEEPS},
    {"cnd_timedwait", new_cnd, timedwait_cnd, broadcast_cnd, SLEEPS},
    {"call_once", nothing, call_once_wait, call_once_run, ROUTINE},
    {"futex_wait", nothing, futex_wait, futex_wake, SLEEPS},
    {"futex_wait_bitset", nothing, futex_wait_bitset, futex_wake_bitset, SLEEPS},
    {"sigwait_kill", block_signals, wait_signal, send_kill, SLEEPS},
    {"sigwait_pthread_kill", block_signals, wait_signal, send_pthread, SLEEPS},
    {"sigwaitinfo_tgkill", block_signals, wait_signal_info, send_tgkill, SLEEPS},
    {"sigwaitinfo_by_number", block_signals, wait_signal_info, send_by_number, SLEEPS},
    {"sigtimedwait_sigqueue", block_signals, wait_signal_time, send_queue, SLEEPS},
    {"sigtimedwait_pthread_sigqueue", block_signals, wait_signal_time, send_pthread_queue, SLEEPS},
    {"pipe_read_write", new_pipe, read_pipe, write_pipe, SLEEPS},
    {"pipe2_readv_writev", new_pipe2, readv_pipe, writev_pipe, SLEEPS},
    {"pipe_read_close", new_pipe, read_end, close_pipe, SLEEPS},
    {"pipe_write_read", new_full_pipe, write_pipe, drain_pipe, SLEEPS},
    {"pipe_dup", new_pipe, read_pipe, dup_write, SLEEPS},
    {"pipe_dup2", new_pipe, read_pipe, dup2_write, SLEEPS},
    {"pipe_dup3", new_pipe, read_pipe, dup3_write, SLEEPS},
    {"pipe_fcntl", new_pipe, read_pipe, fcntl_write, SLEEPS},
    {"pair_recv_send", new_pair, recv_pair, send_pair, SLEEPS},
    {"pair_recvfrom_sendto", new_pair, recvfrom_pair, sendto_pair, SLEEPS},
    {"pair_recvmsg_sendmsg", new_pair, recvmsg_pair, sendmsg_pair, SLEEPS},
    {"pair_read_shutdown", new_pair, read_end, shutdown_pair, SLEEPS},
    {"eventfd_read_write", new_event, read_event, write_event, SLEEPS},
    {"eventfd_by_name", new_event, eventfd_read_event, eventfd_write_event, SLEEPS},
    {"poll", new_pipe, poll_pipe, write_pipe, SLEEPS},
    {"poll_room", new_full_pipe, poll_room, drain_pipe, SLEEPS},
    {"ppoll", new_pipe, ppoll_pipe, write_pipe, SLEEPS},
    {"select", new_pipe, select_pipe, write_pipe, SLEEPS},
    {"pselect", new_pair, pselect_pipe, send_pair, SLEEPS},
    {"epoll_wait", new_poller, epoll_event, write_event, SLEEPS},
    {"epoll_pwait", new_poller, epoll_event_mask, write_event, SLEEPS},
    {"epoll_pwait2", new_poller, epoll_event_precise, eventfd_write_event, SLEEPS},
    /* not woken by a thread of this process */
    {"outside_read", new_pipe_of_child, read_pipe, tell_child, SLEEPS},
    {"outside_poll", new_pipe_of_child, poll_pipe, tell_child, SLEEPS},
    {"outside_select", new_pipe_of_child, select_pipe, tell_child, SLEEPS},
    {"outside_epoll", new_poller_of_child, epoll_event, tell_child, SLEEPS},
    {"time_out_lock", lock, timed_out_lock, nothing, SLEEPS},
    {"time_out_poll", new_pipe, timed_out_poll, nothing, SLEEPS},
    {"time_out_select", nothing, timed_out_select, nothing, SLEEPS},
    {"time_out_futex", nothing, timed_out_futex, nothing, SLEEPS},
    {"time_out_sem", new_semaphore, timed_out_semaphore, nothing, SLEEPS},
    {"time_out_nanosleep", nothing, sleep_by_nanosleep, nothing, SLEEPS},
    {"time_out_clock_nanosleep", nothing, sleep_by_clock, nothing, SLEEPS},
    {"time_out_usleep", nothing, sleep_by_usleep, nothing, SLEEPS},
    {"time_out_sleep", nothing, sleep_by_sleep, nothing, SLEEPS},
    {"time_out_thrd_sleep", nothing, sleep_by_thrd_sleep, nothing, SLEEPS},
};

static const struct test *test;

static void *waiter(void *unused)
{
    (void)unused;
    _coz_add_delays();
    waiter_tid = gettid();
    open_gate = 1;
    test->wait();
    went_on = now();
    waiter_excused = excused(gettid());
    waiter_paused = paused(gettid());
    return NULL;
}

int main(int count, char **words)
{
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (count > 1 && !strcmp(words[1], tests[i].name))
            test = tests + i;
    if (count == 2 && !strcmp(words[1], "--list")) {
        for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
            puts(tests[i].name);
        return 0;
    }
    if (!test)
        fail("no such case");
    find_ledger();
    test->prepare();
    must(!pthread_create(&waiter_handle, NULL, waiter, NULL));
    if (test->how != ROUTINE) {
        while (!waiter_tid)
            rest(MILLISECOND / 4);
        if (test->how == SPINS)
            rest(5 * MILLISECOND);
        else
            until_asleep(waiter_tid);
        raise_g(OWED * MILLISECOND);
        woken_at = now();
    }
    test->wake();
    must(!pthread_join(waiter_handle, NULL));
    printf("excused %.3f paused %.3f late %.3f\n", (double)waiter_excused / 1e6,
           (double)waiter_paused / 1e6, (double)(went_on - woken_at) / 1e6);
    return 0;
}
