// Glibc's Swift module leaves epoll out.
#include <sys/epoll.h>
