/* The ways in which programs start others, and leave. */
#include "busy.h"
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;

static const char *end_of(int status)
{
    static char text[40];
    if (WIFEXITED(status))
        snprintf(text, sizeof text, "exit %d", WEXITSTATUS(status));
    else
        snprintf(text, sizeof text, "signal %d", WTERMSIG(status));
    return text;
}

static const char *wait_for(pid_t child)
{
    int status = 0;
    check(waitpid(child, &status, 0) == child, "waitpid");
    return end_of(status);
}

static void *add(void *sum)
{
    spin_ms(5);
    __atomic_fetch_add((long *)sum, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* What a forked child may do: threads, memory, locks, points. */
static void live_on(void)
{
    long sum = 0;
    pthread_t threads[4];
    for (int at = 0; at < 4; at++)
        pthread_create(&threads[at], NULL, add, &sum);
    for (int at = 0; at < 4; at++)
        pthread_join(threads[at], NULL);
    for (int at = 0; at < 200; at++) {
        free(malloc(1000 + (size_t)at * 100));
        COZ_PROGRESS_NAMED("tick");
    }
    spin_ms(30);
    _exit(sum == 4 ? 7 : 8);
}

static void forks(void)
{
    pid_t child;
    for (int round = 0; round < 10; round++) {
        spin_ms(5);
        child = fork();
        if (child == 0)
            live_on();
        printf("fork: %s\n", wait_for(child));
    }
    child = fork();
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(3);
        _exit(strcmp(wait_for(grandchild), "exit 3") == 0 ? 5 : 6);
    }
    printf("twice: %s\n", wait_for(child));
    child = fork();
    if (child == 0) {
        spin_ms(20);
        raise(SIGKILL);
    }
    printf("killed: %s\n", wait_for(child));
    fflush(stdout);
    child = fork();
    if (child == 0)
        exit(4);
    printf("exit: %s\n", wait_for(child));
}

static void spawns(void)
{
    char *const yes[] = {"sh", "-c", "exit 0", NULL}, *const nine[] = {"sh", "-c", "exit 9", NULL};
    pid_t child;
    FILE *pipe;
    char line[64] = "";
    for (int round = 0; round < 5; round++) {
        child = vfork();
        if (child == 0) {
            execve("/bin/sh", nine, environ);
            _exit(127);
        }
        printf("vfork: %s\n", wait_for(child));
        child = vfork();
        if (child == 0)
            _exit(2);
        printf("vfork without exec: %s\n", wait_for(child));
        check(posix_spawn(&child, "/bin/sh", NULL, NULL, yes, environ) == 0, "posix_spawn");
        printf("posix_spawn: %s\n", wait_for(child));
        printf("system: %s\n", end_of(system("exit 3")));
        spin_ms(10);
    }
    printf("system: %s\n", end_of(system("kill -TERM $$")));
    pipe = popen("echo through", "r");
    check(pipe && fgets(line, sizeof line, pipe) != NULL, "popen");
    printf("popen: %s", line);
    printf("pclose: %s\n", end_of(pclose(pipe)));
    /* Nothing of ours may be left of the children. */
    check(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "no other child");
}

static void replace(char *self, const char *left)
{
    char next[16];
    char *const words[] = {self, "exec", next, NULL};
    spin_ms(60);
    if (atoi(left) == 0) {
        printf("replaced, thread slack kept\n");
        return;
    }
    snprintf(next, sizeof next, "%d", atoi(left) - 1);
    execv("/proc/self/exe", words);
    puts("not replaced");
}

static int open_descriptors(int *highest)
{
    int number = 0;
    for (int at = 0; at < 1024; at++)
        if (fcntl(at, F_GETFD) >= 0) {
            number++;
            *highest = at;
        }
    return number;
}

/* Closes all descriptors, as daemons do, and goes on. */
static void closes(void)
{
    int highest = 0, number = open_descriptors(&highest);
    printf("open %d, highest %d\n", number, highest);
    fflush(stdout);
    for (int at = 3; at < 1024; at++)
        close(at);
    syscall(SYS_close_range, 3, ~0U, 0);
    spin_ms(500);
    puts("closed");
}

static void daemonise(const char *path)
{
    pid_t child = fork();
    int file;
    if (child > 0) {
        printf("parent: %s\n", wait_for(child));
        return;
    }
    setsid();
    if (fork() > 0)
        _exit(0);
    for (int at = 0; at < 1024; at++)
        close(at);
    if (chdir("/") != 0)
        _exit(1);
    spin_ms(100);
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (write(file, "daemon was here\n", 16) != 16)
        _exit(1);
    _exit(0);
}

/* A limit on what it may write. */
static void limits(void)
{
    struct rlimit one = {1024, 1024};
    signal(SIGXFSZ, SIG_IGN);
    check(setrlimit(RLIMIT_FSIZE, &one) == 0, "setrlimit");
    spin_ms(500);
    puts("limited");
}

/* What it was started with. */
static void inherited(void)
{
    struct sigaction action;
    sigset_t mask;
    char text[65];
    for (int number = 1; number < 65; number++) {
        if (sigaction(number, NULL, &action) != 0)
            text[number - 1] = '-';
        else
            text[number - 1] = action.sa_handler == SIG_DFL   ? 'd'
                               : action.sa_handler == SIG_IGN ? 'i'
                                                              : 'h';
    }
    text[64] = 0;
    printf("actions %s\n", text);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int number = 1; number < 65; number++)
        text[number - 1] = sigismember(&mask, number) == 1 ? 'b' : '.';
    printf("mask %s\n", text);
    printf("nice %d\n", nice(0));
    printf("umask %03o\n", umask(022));
    for (int at = 0; at < 10; at++)
        printf("%d %s\n", at, fcntl(at, F_GETFD) >= 0 ? "open" : "closed");
}

int main(int words, char **word)
{
    const char *what = words > 1 ? word[1] : "";
    if (strcmp(what, "inherited") == 0) {
        inherited();
        return 0;
    }
    busy_start();
    if (strcmp(what, "forks") == 0)
        forks();
    else if (strcmp(what, "spawns") == 0)
        spawns();
    else if (strcmp(what, "exec") == 0 && words > 2)
        replace(word[0], word[2]);
    else if (strcmp(what, "closes") == 0)
        closes();
    else if (strcmp(what, "daemon") == 0 && words > 2)
        daemonise(word[2]);
    else if (strcmp(what, "limits") == 0)
        limits();
    busy_stop();
    return 0;
}
