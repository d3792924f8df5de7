/* A second unit: "even" is the same counter as in the first. */
#include "coz.h"

void other_unit(int count);

void other_unit(int count)
{
    const char *name = "even"; /* not a literal */
    while (count-- > 0)
        COZ_PROGRESS_NAMED(name);
}
