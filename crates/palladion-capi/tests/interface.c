/* Tests what the headers promise, as a program that includes them and links the library. */
#include <aegis.h>

#include <pthread.h>
#include <stddef.h>

#include "check.h"

#define V(name) aegis128l_##name
#include "variant.inc"
#undef V
#define V(name) aegis128x2_##name
#include "variant.inc"
#undef V
#define V(name) aegis128x4_##name
#include "variant.inc"
#undef V
#define V(name) aegis256_##name
#include "variant.inc"
#undef V
#define V(name) aegis256x2_##name
#include "variant.inc"
#undef V
#define V(name) aegis256x4_##name
#include "variant.inc"
#undef V

/* Whether the environment asks for a backend that cannot be had. */
static int no_such_backend;

static void *all(void *nothing)
{
    (void) nothing;
    errno = 0;
    if (no_such_backend)
        FAILS(aegis_init());
    else
        CHECK(aegis_init() == 0 && errno == 0);
    aegis128l_test(), aegis128l_test_pieces();
    aegis128x2_test(), aegis128x2_test_pieces();
    aegis128x4_test(), aegis128x4_test_pieces();
    aegis256_test(), aegis256_test_pieces();
    aegis256x2_test(), aegis256x2_test_pieces();
    aegis256x4_test(), aegis256x4_test_pieces();
    return NULL;
}

int main(int argc, char **argv)
{
    no_such_backend = argc > 1 && !strcmp(argv[1], "no-such-backend");
    /* The first use, in several threads at once. */
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, all, NULL) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);

    uint8_t x[32], y[32];
    memset(x, 7, sizeof x);
    memset(y, 7, sizeof y);
    CHECK(aegis_verify_16(x, y) == 0 && aegis_verify_32(x, y) == 0);
    for (int bit = 0; bit < 256; bit++) {
        y[bit / 8] = (uint8_t) (7 ^ (1 << bit % 8));
        CHECK(aegis_verify_16(x, y) == (bit < 128 ? -1 : 0) && aegis_verify_32(x, y) == -1);
        y[bit / 8] = 7;
    }
    printf("as the headers say\n");
    return 0;
}
