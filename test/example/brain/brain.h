/* brain.h - what plugin.c and its plugins agree upon. */
#ifndef EXAMPLE_BRAIN_BRAIN_H
#define EXAMPLE_BRAIN_BRAIN_H

#include <axo/axo.h>
#include <axo/world.h>

enum { THINK = 1 };

/* The beginning of the state of every version. */
typedef struct brain_core {
    int number;
    int thoughts;
} brain_core;

/* What a plugin has, by the name "brain_plugin_here". */
typedef struct brain_plugin {
    const axo_class *cls;
    axo_migrate_fn migrate; /* from the state of any version */
} brain_plugin;

#endif
