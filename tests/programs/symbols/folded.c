/* Two functions of the same code, of which a linker keeps one. */
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) int first(int x)
{
    return x * 17 + (x >> 3);
}

__attribute__((noinline)) int second(int x)
{
    return x * 17 + (x >> 3);
}

int main(int argc, char **argv)
{
    char byte;
    printf("first %p\nsecond %p\nsum %d\nready\n", (void *)first, (void *)second,
           first(argc) + second(argv != 0));
    fflush(stdout);
    return (int)read(0, &byte, 1);
}
