/* Works, then installs a seccomp filter that kills it for any call that it does not make itself. */
#include "busy.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(number)                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int install(const char *how)
{
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write), ALLOW(SYS_exit), ALLOW(SYS_exit_group), ALLOW(SYS_futex),
        ALLOW(SYS_rt_sigreturn), ALLOW(SYS_munmap), ALLOW(SYS_madvise), ALLOW(SYS_brk),
        ALLOW(SYS_rt_sigprocmask), ALLOW(SYS_clock_gettime),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    static struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    if (how[0] == 's')
        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
                            &program);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void spin(long rounds)
{
    for (long at = 0; at < rounds; at++)
        busy_sink += at;
}

static volatile int stop;

static void *beside(void *unused)
{
    while (!stop)
        spin(100000);
    return unused;
}

int main(int words, char **word)
{
    pthread_t other;
    busy_start();
    pthread_create(&other, NULL, beside, NULL);
    spin(150000000);
    fflush(stdout);
    if (install(words > 1 ? word[1] : "prctl") != 0) {
        puts("no seccomp");
        return 3;
    }
    spin(60000000);
    stop = 1;
    pthread_join(other, NULL);
    busy_stop();
    if (write(1, "locked up\n", 10) != 10)
        return 4;
    syscall(SYS_exit_group, 0);
}
