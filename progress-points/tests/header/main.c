/* Every macro in a unit that is both C and C++, beside another unit and beside dlfcn.h. */
#ifdef WITH_DLFCN
#include <dlfcn.h>
#endif
#include "coz.h"
#ifdef WITH_DLFCN_AFTER
#include <dlfcn.h>
#endif
#include <pthread.h>
#include <stdio.h>

void other_unit(int count);

#ifdef __cplusplus
template <typename Number> void in_template(Number count)
{
    for (Number at = 0; at < count; at++)
        COZ_PROGRESS_NAMED("template");
}
#endif

static void *worker(void *nothing)
{
    int at;
    for (at = 0; at < 1000; at++) {
        COZ_BEGIN("job");
        if (at % 2)
            COZ_PROGRESS_NAMED("odd");
        else
            COZ_PROGRESS_NAMED("even");
        COZ_END("job");
    }
    return nothing;
}

int main(void)
{
    pthread_t threads[4];
    int at;
    for (at = 0; at < 4; at++)
        if (pthread_create(threads + at, NULL, worker, NULL))
            return 1;
    for (at = 0; at < 4; at++)
        pthread_join(threads[at], NULL);
    for (at = 0; at < 3; at++)
        COZ_PROGRESS;
    other_unit(5);
#ifdef __cplusplus
    in_template(2);
    in_template(3L);
#endif
    COZ_PRE_BLOCK;
    COZ_POST_BLOCK(1);
    COZ_POST_BLOCK(0);
    COZ_CATCH_UP;
#ifdef CALL_DLSYM
    dlsym(NULL, "main");
#endif
    puts("done");
    return 0;
}
