#define _GNU_SOURCE
#include "shim.h"
#include <pthread.h>

static _Thread_local struct ev_loop *current;

struct ev_loop *clibev_current(void) { return current; }

void clibev_set_current(struct ev_loop *loop) { current = loop; }

void clibev_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }
