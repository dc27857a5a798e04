/* replace.h - an actor's part of the replacement of its class.
 *
 * Orders
 *   [C1] [C2] as in cell/replacing.h
 */
#ifndef AXO__SUPER_REPLACE_H
#define AXO__SUPER_REPLACE_H

#include "super/super.h"

/* The directive that asks for it has been taken, in a system turn of the cell. Where the actor
 * cannot be replaced yet nothing happens: who waits for it asks again. */
void axo__replace_take(axo__worker *worker, axo__cell *cell);

/* A restart has waited for children, and goes on: the instance is over, and what is left of it goes
 * if the class does. */
void axo__replace_between(axo__worker *worker, axo__cell *cell);

#endif
