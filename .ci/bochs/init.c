#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* PID 1 of the guest: runs /.cmd (NUL-separated argv) with /.env, copies what it writes to port
   0xE9 (Bochs puts that on its stdout), then powers the emulator off through port 0x8900. */
static void e9(const char *p, size_t n) { while (n--) outb((unsigned char)*p++, 0xe9); }
static char **split(const char *path) {
  struct stat st; int fd = open(path, O_RDONLY);
  if (fd < 0 || fstat(fd, &st)) return calloc(1, sizeof(char *));
  char *b = calloc(1, st.st_size + 2); ssize_t n = read(fd, b, st.st_size); close(fd);
  char **v = calloc(st.st_size + 2, sizeof *v); int c = 0;
  for (char *p = b; p < b + n; p += strlen(p) + 1) v[c++] = p;
  return v;
}
int main(void) {
  char line[128];
  if (iopl(3)) return 1;
  mkdir("/proc", 0755); mkdir("/sys", 0755); mkdir("/dev", 0755); mkdir("/tmp", 01777);
  mount("proc", "/proc", "proc", 0, 0); mount("sysfs", "/sys", "sysfs", 0, 0);
  mount("devtmpfs", "/dev", "devtmpfs", 0, 0); mount("tmpfs", "/tmp", "tmpfs", 0, 0);
  char **argv = split("/.cmd"), **env = split("/.env");
  int p[2]; if (pipe(p)) return 1;
  e9("\n@@BOCHS-BEGIN@@\n", 17);
  struct timespec t0, t1; clock_gettime(CLOCK_MONOTONIC, &t0);
  pid_t pid = fork();
  if (pid == 0) {
    int z = open("/dev/null", O_RDONLY); dup2(z, 0); dup2(p[1], 1); dup2(p[1], 2);
    if (z > 2) close(z);
    close(p[0]); close(p[1]); setsid();
    if (chdir("/tmp")) {}
    execve(argv[0], argv + 1, env);
    dprintf(2, "exec %s: %s\n", argv[0], strerror(errno)); _exit(127);
  }
  close(p[1]);
  static char buf[65536]; ssize_t n;
  while ((n = read(p[0], buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR)) if (n > 0) e9(buf, n);
  int st = 0; while (waitpid(pid, &st, 0) < 0 && errno == EINTR) {}
  clock_gettime(CLOCK_MONOTONIC, &t1);
  n = snprintf(line, sizeof line, "\n@@BOCHS-END rc=%d guest_s=%.3f@@\n",
                 WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st),
               (t1.tv_sec - t0.tv_sec) + (t1.tv_nsec - t0.tv_nsec) / 1e9);
  e9(line, n);
  for (const char *s = "Shutdown"; *s; s++) outb(*s, 0x8900);
  for (;;) pause();
}
