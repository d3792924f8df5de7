/* An exception leaves the routine of std::call_once, that is of pthread_once, through the hook; the
 * next caller runs it again. So does one of a thread that is cancelled inside it. */
#include "ledger.h"
#include <mutex>
#include <stdexcept>
#include <thread>

static std::once_flag flag, cancelled_flag;
static int runs;
static volatile bool inside;

static void *cancelled(void *nothing)
{
    std::call_once(cancelled_flag, [] {
        inside = true;
        for (;;)
            pause();
    });
    return nothing;
}

int main()
{
    find_ledger();
    for (int round = 0; round < 3; round++) {
        try {
            std::call_once(flag, [] {
                if (++runs < 3)
                    throw std::runtime_error("not yet");
            });
            puts("done");
        } catch (const std::runtime_error &error) {
            puts(error.what());
        }
    }
    pthread_t thread;
    void *result;
    if (pthread_create(&thread, nullptr, cancelled, nullptr))
        return 2;
    while (!inside)
        rest(MILLISECOND);
    if (pthread_cancel(thread) || pthread_join(thread, &result) || result != PTHREAD_CANCELED)
        return 3;
    int again = 0;
    std::call_once(cancelled_flag, [&] { again++; });
    printf("again %d\n", again);
    return 0;
}
