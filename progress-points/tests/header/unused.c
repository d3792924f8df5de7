/* Includes the header and uses nothing of it. */
#include "coz.h"

int unused(void);

int unused(void)
{
    return 0;
}
