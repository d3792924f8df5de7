/* A library that waits by itself. */
#include <pthread.h>

int work(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    for (int at = 0; at < 1000; at++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    return 1;
}
