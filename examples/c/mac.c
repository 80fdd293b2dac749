/* Authenticates several messages in pieces with one key. */
#include <stdio.h>

#include <aegis.h>

static void print(const char *name, const uint8_t *tag)
{
    printf("%s: ", name);
    for (int i = 0; i < 32; i++)
        printf("%02x", tag[i]);
    printf("\n");
}

int main(void)
{
    const uint8_t key[aegis128x4_KEYBYTES] = "for MACs alone!"; /* use a random key */
    uint8_t tag[32];
    aegis128x4_mac_state state;
    aegis128x4_mac_init(&state, key, NULL);
    if (aegis128x4_mac_update(&state, (const uint8_t *) "in two ", 7) != 0 ||
        aegis128x4_mac_update(&state, (const uint8_t *) "pieces", 6) != 0 ||
        aegis128x4_mac_final(&state, tag, sizeof tag) != 0)
        return 1;
    print("in two pieces", tag);

    aegis128x4_mac_reset(&state);
    if (aegis128x4_mac_update(&state, (const uint8_t *) "in two pieces", 13) != 0 ||
        aegis128x4_mac_verify(&state, tag, sizeof tag) != 0)
        return 1;
    printf("in one piece: the same\n");
    return 0;
}
