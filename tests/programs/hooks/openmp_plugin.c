/* A plug-in with a parallel loop, a critical section and a barrier. */
#include <omp.h>

long sum_in_team(long count);
long sum_in_team(long count)
{
    long sum = 0;
    int members = 0;
#pragma omp parallel num_threads(3)
    {
        long part = 0;
#pragma omp for schedule(dynamic, 100)
        for (long at = 1; at <= count; at++)
            part += at;
#pragma omp critical
        {
            sum += part;
            members++;
        }
#pragma omp barrier
    }
    return members == 3 ? sum : -1;
}
