/* Load for memcached on a port of this machine: connections that each send a batch of gets and sets
 * and read all answers before the next. Arguments: port, seconds. Prints requests a second. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 4, BATCH = 32 };

static int port;
static double seconds;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int connected(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int try = 0; try < 200; try++) {
        if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0)
            return descriptor;
        usleep(20000);
    }
    fprintf(stderr, "no server on port %d\n", port);
    exit(2);
}

/* How many lines that end an answer are in these bytes. */
static int ended(const char *text, size_t length, int *begins_line)
{
    int count = 0;
    for (size_t at = 0; at < length; at++) {
        if (*begins_line && (text[at] == 'E' || text[at] == 'S'))
            count++;
        *begins_line = text[at] == '\n';
    }
    return count;
}

static void *load(void *made)
{
    double end;
    int descriptor = connected();
    unsigned key = (unsigned)(long)made;
    long count = 0;
    char request[BATCH * 128], answer[1 << 16];
    end = now() + seconds;
    do {
        int length = 0, open = BATCH, begins_line = 1;
        for (int at = 0; at < BATCH; at++) {
            key = key * 1103515245 + 12345;
            length += at % 8 == 0
                          ? sprintf(request + length, "set key%u 0 0 16\r\nvvvvvvvvvvvvvvvv\r\n", (key >> 8) % 4096)
                          : sprintf(request + length, "get key%u\r\n", (key >> 8) % 4096);
        }
        if (write(descriptor, request, (size_t)length) != length)
            exit(2);
        while (open > 0) {
            ssize_t got = read(descriptor, answer, sizeof answer);
            if (got <= 0)
                exit(2);
            open -= ended(answer, (size_t)got, &begins_line);
        }
        count += BATCH;
    } while (now() < end);
    close(descriptor);
    *(long *)made = count;
    return NULL;
}

int main(int words, char **word)
{
    pthread_t threads[CONNECTIONS];
    long counts[CONNECTIONS], all = 0;
    double begin;
    port = words > 1 ? atoi(word[1]) : 11211;
    seconds = words > 2 ? atof(word[2]) : 3;
    close(connected());
    begin = now();
    for (int at = 0; at < CONNECTIONS; at++) {
        counts[at] = at;
        if (pthread_create(&threads[at], NULL, load, &counts[at]) != 0)
            return 1;
    }
    for (int at = 0; at < CONNECTIONS; at++) {
        pthread_join(threads[at], NULL);
        all += counts[at];
    }
    printf("rate %.1f\n", (double)all / (now() - begin));
    return 0;
}
