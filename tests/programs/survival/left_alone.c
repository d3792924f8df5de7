/* Two threads do the same work, one of them on the line that the profiler speeds up; each 25 ms it
 * is printed how much the other one got done for each 100 of the first. */
#include "busy.h"

static volatile unsigned long first, second;

static void *on_the_line(void *unused)
{
    unsigned long state = 1;
    while (busy_goes_on) {
        for (int at = 0; at < 60000; at++) state = state * 6364136223846793005UL + 1; /* LINE: fast */
        first++;
        COZ_PROGRESS_NAMED("tick");
    }
    busy_sink = state;
    return unused;
}

static void *beside_it(void *unused)
{
    unsigned long state = 1;
    while (busy_goes_on) {
        for (int at = 0; at < 60000; at++)
            state = state * 6364136223846793005UL + 1;
        second++;
    }
    busy_sink = state;
    return unused;
}

int main(int words, char **word)
{
    long steps = words > 1 ? atol(word[1]) : 20;
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, on_the_line, NULL);
    pthread_create(&threads[1], NULL, beside_it, NULL);
    for (long at = 0; at < steps; at++) {
        unsigned long before_first = first, before_second = second;
        usleep(25000);
        printf("%lu\n", (second - before_second) * 100 / (first - before_first + 1));
        fflush(stdout);
    }
    busy_goes_on = 0;
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    puts("ended well");
    return 0;
}
