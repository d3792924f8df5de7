/* A library that a program loads, unloads and loads again. */
extern char mark_plugin[];

__attribute__((noinline)) int plugin(int x) {
    __asm__ volatile(".globl mark_plugin\nmark_plugin:\n\tnop"); /* line: plugin */
    return x + 1;
}

void *where_plugin(void) {
    return mark_plugin;
}
