/* What the headers share. Include aegis.h. */
#ifndef aegis_common_H
#define aegis_common_H

/* The alignment that structures ask for. The library needs none; with it, it need not copy them. */
#ifndef CRYPTO_ALIGN
#    if defined(__cplusplus) && __cplusplus >= 201103L
#        define CRYPTO_ALIGN(x) alignas(x)
#    elif defined(_MSC_VER)
#        define CRYPTO_ALIGN(x) __declspec(align(x))
#    elif defined(__GNUC__)
#        define CRYPTO_ALIGN(x) __attribute__((aligned(x)))
#    else
#        define CRYPTO_ALIGN(x)
#    endif
#endif

/* The compiler warns if the result is not looked at. */
#ifndef AEGIS_WARN_UNUSED_RESULT
#    ifdef __GNUC__
#        define AEGIS_WARN_UNUSED_RESULT __attribute__((warn_unused_result))
#    elif defined(__cplusplus) && \
        (__cplusplus >= 201703L || (defined(_MSVC_LANG) && _MSVC_LANG >= 201703L))
#        define AEGIS_WARN_UNUSED_RESULT [[nodiscard]]
#    elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L
#        define AEGIS_WARN_UNUSED_RESULT [[nodiscard]]
#    else
#        define AEGIS_WARN_UNUSED_RESULT
#    endif
#endif

#endif
