/* A library with work and a progress point of its own. */
#include "coz.h"

__attribute__((noinline)) unsigned long first_work(unsigned long state, long count)
{
    while (count-- > 0)
        state = state * 6364136223846793005ul + 1442695040888963407ul; /* LINE: first */
    return state;
}

/* Not quite the same, or the compiler would make one function of both. */
__attribute__((noinline)) unsigned long second_work(unsigned long state, long count)
{
    while (count-- > 0)
        state = state * 2862933555777941757ul + 3037000493ul; /* LINE: second */
    return state;
}

unsigned long unit(unsigned long state, int second)
{
    state = second ? second_work(state, 700000) : first_work(state, 700000);
    COZ_PROGRESS_NAMED("unit");
    return state;
}
