/* Encrypts and decrypts a message, and shows that a changed one is rejected. */
#include <stdio.h>
#include <string.h>

#include <aegis.h>

int main(void)
{
    /* A real program uses 16 secret random bytes, and never the same nonce twice with one key. */
    const uint8_t key[aegis128x2_KEYBYTES] = "sixteen bytes !";
    const uint8_t nonce[aegis128x2_NPUBBYTES] = { 1 };
    const char header[] = "to: everybody", message[] = "attack at dawn";

    uint8_t sealed[sizeof message + 32], opened[sizeof message];
    if (aegis128x2_encrypt(sealed, 32, (const uint8_t *) message, sizeof message,
            (const uint8_t *) header, sizeof header, nonce, key) != 0)
        return 1;

    if (aegis128x2_decrypt(opened, sealed, sizeof sealed, 32, (const uint8_t *) header,
            sizeof header, nonce, key) != 0) {
        fprintf(stderr, "this should not happen\n");
        return 1;
    }
    printf("decrypted: %s\n", (const char *) opened);

    sealed[3] ^= 1;
    if (aegis128x2_decrypt(opened, sealed, sizeof sealed, 32, (const uint8_t *) header,
            sizeof header, nonce, key) == 0)
        return 1;
    printf("with one bit changed: refused\n");
    return 0;
}
