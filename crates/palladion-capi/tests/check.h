/* What the tests in C share. */
#ifndef check_H
#define check_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                        \
    do {                                                                   \
        if (!(what)) {                                                     \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

/* It fails with an error number. */
#define FAILS_WITH(number, call)                \
    do {                                        \
        errno = 0;                              \
        CHECK((call) == -1 && errno == (number)); \
    } while (0)

/* It fails because of an argument. */
#define FAILS(call) FAILS_WITH(EINVAL, call)

#endif
