/*
 * AEGIS (RFC 10032): six authenticated ciphers from the AES round. The interface is that of
 * libaegis.
 *
 * Which one? aegis128x2 or aegis256x2 where both sides are yours; aegis128l or aegis256 to talk to
 * others; a variant of aegis256 if nonces are random. The functions of each are documented in its
 * header; the library in docs/c.md.
 */
#ifndef aegis_H
#define aegis_H

#include <stdint.h>

#include "aegis_common.h"

#include "aegis128l.h"
#include "aegis128x2.h"
#include "aegis128x4.h"
#include "aegis256.h"
#include "aegis256x2.h"
#include "aegis256x4.h"
#include "aegis_raf.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Chooses the best backend for the CPU. The first use of any function does the same. May be called
 * any number of times, from any thread.
 *
 * @return 0; or -1 with errno EINVAL if the environment variable PALLADION_BACKEND names a backend
 *         that is unavailable here; the library ignores it then
 */
int aegis_init(void);

/** Compares 16 bytes in constant time. @return 0 if they are equal, -1 if not */
AEGIS_WARN_UNUSED_RESULT
int aegis_verify_16(const uint8_t *x, const uint8_t *y);

/** Compares 32 bytes in constant time. @return 0 if they are equal, -1 if not */
AEGIS_WARN_UNUSED_RESULT
int aegis_verify_32(const uint8_t *x, const uint8_t *y);

#ifdef __cplusplus
}
#endif

#endif
