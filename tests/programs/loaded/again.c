/* Works for the milliseconds of its first argument in one function, then executes itself anew (with
 * a second argument) to work in another. */
#include "coz.h"
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static unsigned long state = 1;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static __attribute__((noinline)) void before(long count)
{
    while (count-- > 0)
        state = state * 6364136223846793005ul + 1442695040888963407ul; /* LINE: before */
}

/* Not quite the same, or the compiler would make one function of both. */
static __attribute__((noinline)) void after(long count)
{
    while (count-- > 0)
        state = state * 2862933555777941757ul + 3037000493ul; /* LINE: after */
}

int main(int count, char **words)
{
    if (count < 2)
        return 1;
    for (double end = now() + atof(words[1]) / 1000; now() < end;) {
        if (count > 2)
            after(700000);
        else
            before(700000);
        COZ_PROGRESS_NAMED("unit");
    }
    if (count == 2)
        execl(words[0], words[0], words[1], "again", NULL);
    return state == 0;
}
