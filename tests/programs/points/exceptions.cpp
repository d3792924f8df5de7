// Throws through, and out of, lines that are progress points; on functions that are called through
// pointers and virtually, and that end in a jump to another.
#include <cstdio>
#include <cstdlib>
#include <memory>

static volatile long sink;

struct Shape {
    virtual ~Shape() = default;
    virtual long area(long n) const = 0;
};

struct Square : Shape {
    __attribute__((noinline)) long area(long n) const override
    {
        if (n % 4 == 0)
            throw n;
        return n * n;
    }
};

struct Line : Shape {
    __attribute__((noinline)) long area(long n) const override { return n; }
};

template <class T> __attribute__((noinline)) static T last(T n)
{
    sink += static_cast<long>(n);
    return n;
}

__attribute__((noinline)) static long through(const Shape &shape, long n)
{
    return shape.area(n); // LINE: virtual
}

__attribute__((noinline)) static long ends_in_a_jump(long n)
{
    sink += n;
    return last(n); // LINE: jump
}

int main(int words, char **word)
{
    long n = words > 1 ? std::atol(word[1]) : 1000, caught = 0;
    std::unique_ptr<Shape> shapes[] = {std::make_unique<Square>(), std::make_unique<Line>()};
    long (*volatile pointer)(long) = ends_in_a_jump;
    for (long at = 0; at < n; at++) {
        try {
            sink += through(*shapes[at % 2], at);
        } catch (long) {
            caught++; // LINE: caught
            sink += caught;
        }
        sink += pointer(at); // LINE: pointer
        last(1.5);           // LINE: template
    }
    std::printf("virtual %ld\njump %ld\npointer %ld\ncaught %ld\ntemplate %ld\nlast %ld\n", n, n, n,
                caught, n, 2 * n);
}
