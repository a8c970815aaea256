// floor PORT[,PORT...] NAME COMMAND [ARG]...
//
// The yardstick: what a lock around COMMAND costs at the very least. One process, no library but
// libc, no options, no time limits, no renewal, nobody to stop COMMAND. Connects to every server,
// sends SET NX PX to all, starts COMMAND when a majority granted, and deletes the key by a script
// that compares the token. Ends with COMMAND's status, or with 75 when the lock is held.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMaxNodes = 15, kTokenLength = 32, kUsage = 64, kUnavailable = 69, kHeld = 75 };

extern char** environ;

// Every answer asked for here is a single line: +OK, $-1, :0, :1 or an error. The first one on a
// connection is the answer to SET, the second one that to the release.
struct Node {
  int fd;
  int answers;
  bool granted;
};

static struct Node nodes[kMaxNodes];
static int node_count;
static char request[4096];

static void fail(int status, const char* what) {
  perror(what);
  exit(status);
}

// On loopback connect() does not wait for the server: the kernel answers for it.
static void connect_to(const char* port) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((unsigned short)atoi(port)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int on = 1;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail(kUnavailable, "floor: socket");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(fd, (struct sockaddr*)&address, sizeof address) != 0) {
    close(fd);
    fd = -1;
  }
  nodes[node_count++] = (struct Node){.fd = fd};
}

static void lose(struct Node* node) {
  close(node->fd);
  node->fd = -1;
}

static void send_to_all(int length) {
  for (int i = 0; i < node_count; ++i) {
    struct Node* node = &nodes[i];
    if (node->fd >= 0 && send(node->fd, request, (size_t)length, MSG_NOSIGNAL) != length) {
      lose(node);
    }
  }
}

// Reads whole or broken lines: only their first byte and their end matter.
static void receive(struct Node* node) {
  char buffer[512];
  const ssize_t length = recv(node->fd, buffer, sizeof buffer, MSG_DONTWAIT);
  if (length <= 0) {
    lose(node);
    return;
  }
  if (node->answers == 0 && buffer[0] == '+') node->granted = true;
  for (ssize_t i = 0; i < length; ++i) node->answers += buffer[i] == '\n';
}

static int granted_count(void) {
  int count = 0;
  for (int i = 0; i < node_count; ++i) count += nodes[i].granted && nodes[i].answers > 0;
  return count;
}

// Waits until `enough` servers have granted, or every living one has given `answers` answers.
static void gather(int answers, int enough) {
  for (;;) {
    struct pollfd waiting[kMaxNodes];
    int left = 0;
    for (int i = 0; i < node_count; ++i) {
      const bool owes = nodes[i].fd >= 0 && nodes[i].answers < answers;
      waiting[i] = (struct pollfd){.fd = owes ? nodes[i].fd : -1, .events = POLLIN};
      left += owes;
    }
    if (left == 0 || granted_count() >= enough) return;
    if (poll(waiting, (nfds_t)node_count, -1) < 0) continue;
    for (int i = 0; i < node_count; ++i) {
      if (waiting[i].revents != 0) receive(&nodes[i]);
    }
  }
}

static int append_set(const char* name, const char* token) {
  return snprintf(request, sizeof request,
                  "*6\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n$2\r\nNX\r\n$2\r\nPX\r\n"
                  "$5\r\n30000\r\n",
                  strlen(name), name, strlen(token), token);
}

static int append_release(const char* name, const char* token) {
  static const char script[] =
      "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end "
      "return 0";
  return snprintf(request, sizeof request,
                  "*5\r\n$4\r\nEVAL\r\n$%zu\r\n%s\r\n$1\r\n1\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
                  strlen(script), script, strlen(name), name, strlen(token), token);
}

static int run(char** command) {
  pid_t pid = 0;
  int status = 0;
  const int error = posix_spawnp(&pid, command[0], NULL, NULL, command, environ);
  if (error != 0) return 127;
  if (waitpid(pid, &status, 0) != pid) return 71;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char** argv) {
  if (argc < 4 || strlen(argv[2]) > 1024) {
    fputs("usage: floor PORT[,PORT...] NAME COMMAND [ARG]...\n", stderr);
    return kUsage;
  }
  for (char* port = strtok(argv[1], ","); port != NULL && node_count < kMaxNodes;
       port = strtok(NULL, ",")) {
    connect_to(port);
  }

  unsigned char random[kTokenLength / 2];
  char token[kTokenLength + 1];
  if (getrandom(random, sizeof random, 0) != sizeof random) fail(71, "floor: getrandom");
  for (size_t i = 0; i < sizeof random; ++i) snprintf(token + 2 * i, 3, "%02x", random[i]);

  const int quorum = node_count / 2 + 1;
  send_to_all(append_set(argv[2], token));
  gather(1, quorum);

  const bool won = granted_count() >= quorum;
  int reachable = 0;
  for (int i = 0; i < node_count; ++i) reachable += nodes[i].fd >= 0;
  const int status = won ? run(argv + 3) : reachable >= quorum ? kHeld : kUnavailable;

  send_to_all(append_release(argv[2], token));
  gather(2, node_count + 1);
  return status;
}
