/* Preloaded beside the profiler: each answer that a server sends is a visit of a progress point, so
 * that one without points can be experimented on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include "coz.h"

static ssize_t (*real)(int, const struct msghdr *, int);

__attribute__((constructor)) static void find(void)
{
    real = (ssize_t (*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg");
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags)
{
    ssize_t result = real(descriptor, message, flags);
    COZ_PROGRESS_NAMED("answer");
    return result;
}
