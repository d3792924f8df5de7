/* Copies of a process that has threads, in a window: what the child does must not show in the
 * parent's memory, and the child must run at full speed. The first argument names the way to make
 * one. Prints nothing unless something is wrong. Driven by tests/hooks/copies.rs. */
#define _GNU_SOURCE
#include "ledger.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;
static volatile uint64_t *parents_point;
static volatile int stop;
static sem_t semaphore;

static void must(int good, const char *what)
{
    if (!good) {
        perror(what);
        _exit(9);
    }
}

static volatile uint64_t *point(const char *name) { return _coz_get_counter(1, name); }

enum { SAMPLES = 40 };

static void burn(int milliseconds)
{
    struct timespec begin, time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    while ((time.tv_sec - begin.tv_sec) * 1000 + (time.tv_nsec - begin.tv_nsec) / MILLISECOND <
           milliseconds);
}

static void *beside(void *unused)
{
    while (!stop) {
        sem_post(&semaphore);
        sem_wait(&semaphore);
        rest(MILLISECOND / 10);
    }
    return unused;
}

static uint64_t all_paused(void) { return *word(at[ALL_PAUSED]); }
static uint64_t samples(void) { return *word(at[ALL_SAMPLES]); }

/* Burns some time, and more where it is sampled: a machine that others use, too, takes fewer samples
 * than its CPU time would have. */
static void burn_until_sampled(void)
{
    burn(80);
    for (int more = 0; more < 40 && samples() > 0 && samples() <= SAMPLES; more++)
        burn(40);
}

/* What a child does, made while its parent owed a second: it must neither pay nor count for it. */
static int in_child(void)
{
    uint64_t before = all_paused();
    *parents_point += 5; /* a pointer that the parent got */
    volatile uint64_t *own = point("child");
    *own += 2;
    sem_post(&semaphore);
    sem_wait(&semaphore);
    _coz_add_delays();
    must(point("parent") == parents_point, "a point moved");
    must(!is_active(), "a window is in force in the child");
    must(all_paused() <= before, "the child was slowed down"); /* of a copy it is 0 */
    burn_until_sampled();
    return 7;
}

static int child_of_clone(void *unused)
{
    (void)unused;
    return in_child();
}

static void expect(pid_t child, int status_wanted)
{
    int status;
    must(child > 0, "no child");
    must(waitpid(child, &status, 0) == child, "waitpid");
    must(WIFEXITED(status) && WEXITSTATUS(status) == status_wanted, "the child's status");
}

static pid_t copy(const char *how)
{
    if (!strcmp(how, "fork"))
        return fork();
    if (!strcmp(how, "_Fork"))
        return _Fork();
    if (!strcmp(how, "fork_by_number"))
        return (pid_t)syscall(SYS_fork);
    if (!strcmp(how, "clone_by_number"))
        return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    fail("no such way");
    return -1;
}

static void *fork_in_thread(void *how)
{
    pid_t child = copy(how);
    if (child == 0)
        _exit(in_child());
    expect(child, 7);
    return NULL;
}

/* The child of a vfork has our memory: its hooks must leave our ledger alone. */
static void with_vfork(void)
{
    int ends[2];
    char byte;
    must(!pipe(ends), "pipe");
    uint64_t before = paused(getpid());
    pid_t child = vfork();
    if (child == 0) {
        close(ends[0]);
        sem_post(&semaphore);
        _coz_add_delays();
        _exit(7);
    }
    must(paused(getpid()) == before, "the child of vfork paid our debt");
    expect(child, 7);
    *(volatile uint64_t *)word(at[G]) -= 970u * MILLISECOND; /* a short debt will do */
    _coz_add_delays();
    must(paused(getpid()) > before, "hooks stayed off after vfork");
    must(write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1, "the pipe");
}

static void with_programs(void)
{
    pid_t child;
    char *arguments[] = {"sh", "-c", "exit 7", NULL};
    must(!posix_spawnp(&child, "sh", NULL, NULL, arguments, environ), "posix_spawn");
    expect(child, 7);
    int status = system("exit 6");
    must(WIFEXITED(status) && WEXITSTATUS(status) == 6, "system");
    FILE *pipe = popen("echo hello", "r");
    char text[16];
    must(pipe && fgets(text, sizeof text, pipe) && !strcmp(text, "hello\n"), "popen");
    must(pclose(pipe) == 0, "pclose");
    child = vfork();
    if (child == 0) {
        execvp("sh", arguments);
        _exit(1);
    }
    expect(child, 7);
}

int main(int count, char **words)
{
    pthread_t thread, forker;
    const char *how = count > 1 ? words[1] : "fork";
    find_ledger();
    must(!sem_init(&semaphore, 0, 0), "sem_init");
    parents_point = point("parent");
    *parents_point += 3;
    must(!pthread_create(&thread, NULL, beside, NULL), "a thread");
    rest(5 * MILLISECOND);
    _coz_add_delays();
    stop = 1;
    pthread_join(thread, NULL);
    if (!strcmp(how, "vfork")) {
        raise_g(1000u * MILLISECOND);
        with_vfork();
    } else if (!strcmp(how, "programs")) {
        with_programs();
    } else if (!strcmp(how, "clone")) {
        static char stack[1 << 16] __attribute__((aligned(16)));
        raise_g(1000u * MILLISECOND);
        pid_t child = clone(child_of_clone, stack + sizeof stack, SIGCHLD, NULL);
        expect(child, 7);
        _exit(0); /* nobody told the runtime of this copy, and what it counted is in doubt */
    } else {
        raise_g(1000u * MILLISECOND);
        if (count > 2) {
            must(!pthread_create(&forker, NULL, fork_in_thread, (void *)how), "a thread");
            pthread_join(forker, NULL);
        } else
            fork_in_thread((void *)how);
    }
    must(*parents_point == 3, "the child counted in its parent");
    printf("done\n");
    fflush(stdout);
    _exit(0);
}
