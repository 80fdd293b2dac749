/* Functions that Rust's standard library needs on WASI and Debian's wasi-libc lacks: those for
 * threads, of which there are none. */
enum { ENOTSUP = 58 };
int pthread_attr_init(void *attributes) { (void)attributes; return 0; }
int pthread_attr_destroy(void *attributes) { (void)attributes; return 0; }
int pthread_attr_setstacksize(void *attributes, unsigned long size) {
    (void)attributes;
    (void)size;
    return 0;
}
int pthread_create(void *thread, void *attributes, void *start, void *argument)
{
    (void)thread; (void)attributes; (void)start; (void)argument;
    return ENOTSUP;
}
int pthread_join(void *thread, void **result) { (void)thread; (void)result; return ENOTSUP; }
int pthread_detach(void *thread) { (void)thread; return ENOTSUP; }
