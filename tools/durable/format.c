/* format.c - whether what a base has is a store of this version. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "record.h"
#include "store.h"

axo_status durable_format_check(const char *what, const durable_bytes *value,
                                axo_store_problem *problem)
{
    durable_format format = {.version = 0};
    if (value->size >= sizeof format)
        memcpy(&format, value->data, sizeof format);
    if (memcmp(format.magic, DURABLE_MAGIC, sizeof format.magic) != 0) {
        (void)snprintf(problem->text, sizeof problem->text, "%.100s is no store of axo's", what);
        return AXO_EVERSION;
    }
    if (format.version != DURABLE_VERSION || value->size != sizeof format) {
        (void)snprintf(problem->text, sizeof problem->text,
                       "the store is of version %u; this library reads version %u", format.version,
                       DURABLE_VERSION);
        return AXO_EVERSION;
    }
    return AXO_OK;
}

axo_status durable_format_read(axo_store *store, axo_store_problem *problem)
{
    durable_txn *txn;
    durable_format format;
    durable_bytes key = {.size = 6, .data = "format"};
    durable_bytes value = {.size = 0};
    int error = store->base->begin(store->on, true, &txn);
    if (error == 0) {
        error = store->base->get(txn, DURABLE_META, &key, &value);
        axo_status status = AXO_OK;
        if (error == 0)
            status = durable_format_check("what is there", &value, problem);
        if (error == 0 && status == AXO_OK)
            memcpy(&format, value.data, sizeof format);
        store->base->abort(txn);
        if (status != AXO_OK)
            return status;
    }
    if (error != 0) {
        problem->error = error;
        (void)snprintf(problem->text, sizeof problem->text, "the format: %s",
                       durable_disk_text(store, error));
        return error == ENOMEM ? AXO_ENOMEM : AXO_ESYSTEM;
    }
    store->next_id = store->was_next_id = format.next_id;
    return AXO_OK;
}
