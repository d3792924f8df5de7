/* Ticks in the process, in forked children, and in one that has replaced itself: five times the
 * first argument in all. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) void tick(long n)
{
    sink += n; /* LINE: tick */
}

int main(int words, char **word)
{
    long n = words > 1 ? atol(word[1]) : 1000;
    for (long at = 0; at < n; at++)
        tick(at);
    if (words > 2)
        return 0;
    for (int child = 0; child < 3; child++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (long at = 0; at < n; at++)
                tick(at);
            if (child == 2)
                execl("/proc/self/exe", word[0], word[1], "again", NULL);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    printf("tick %ld\n", 5 * n);
    return 0;
}
