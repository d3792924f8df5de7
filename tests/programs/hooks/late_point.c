/* A master without a progress point forks; the child has one. */
#include "ledger.h"
#include <sys/wait.h>

int main(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        rest(20 * MILLISECOND);
        volatile uint64_t *point = _coz_get_counter(1, "worker");
        *point += 4;
        rest(20 * MILLISECOND);
        _exit(0);
    }
    return !(waitpid(child, &status, 0) == child && status == 0);
}
