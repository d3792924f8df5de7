/* A watchdog: how long the worker was ever away, and how much of its time. */
#include "busy.h"

static volatile long longest_us;

static long microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

int main(int words, char **word)
{
    long end = microseconds() + (words > 1 ? atol(word[1]) : 1000) * 1000, last, gaps = 0;
    busy_start();
    last = microseconds();
    while (last < end) {
        long now;
        for (int at = 0; at < 500; at++)
            busy_sink += at;
        now = microseconds();
        if (now - last > 2000)
            gaps += now - last;
        if (now - last > longest_us)
            longest_us = now - last;
        last = now;
    }
    busy_stop();
    printf("%ld %ld\n", longest_us / 1000, gaps / 1000);
    return 0;
}
