/* ai.cpp - the entities' code as a plugin, version 1 or 2:
 *
 *     c++ -std=c++17 -O2 -shared -fPIC -fvisibility=hidden -DAI_VERSION=2 ai.cpp \
 *         $(pkg-config --cflags axo) -o ai2.so
 *
 * It lies beside the engine and is linked with nothing: the functions of axo are the engine's. What
 * is inline is in both; it is hidden, so that each has its own, and this one's can go. */
#include "entity.hpp"

extern "C" {
__attribute__((visibility("default"))) extern const engine::ai ai_here;
const engine::ai ai_here = engine::entity_ai;
}
