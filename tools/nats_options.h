/* nats_options.h - what each connection of the libraries on NATS asks for; how often it looks for
 * its server is the library's own. */
#ifndef NATS_OPTIONS_H
#define NATS_OPTIONS_H

#include <stdlib.h>
#include <string.h>

#include <nats/nats.h>

/* In a url; the headers of the libraries say so. */
#define NATS_URLS_MAX 16

/* With commas between them; NULL: one of this machine. */
static inline natsStatus nats_options_servers(natsOptions *to, const char *url)
{
    const char *servers[NATS_URLS_MAX];
    char *rest = NULL;
    int count = 0;
    char *copy = strdup(url != NULL ? url : "nats://127.0.0.1:4222");
    if (copy == NULL)
        return NATS_NO_MEMORY;
    char *one = strtok_r(copy, ", ", &rest);
    for (; one != NULL && count < NATS_URLS_MAX; one = strtok_r(NULL, ", ", &rest))
        servers[count++] = one;
    natsStatus status = NATS_INVALID_ARG;
    if (count > 0 && one == NULL)
        status = natsOptions_SetServers(to, servers, count);
    free(copy);
    return status;
}

/* Connects again for ever. `credentials` and `ca` are files, NULL: none. */
static inline natsStatus nats_options_fill(natsOptions *to, const char *url,
                                           const char *credentials, const char *ca,
                                           const char *name)
{
    natsStatus status = nats_options_servers(to, url);
    if (status == NATS_OK && credentials != NULL)
        status = natsOptions_SetUserCredentialsFromFiles(to, credentials, NULL);
    if (status == NATS_OK && ca != NULL)
        status = natsOptions_SetSecure(to, true);
    if (status == NATS_OK && ca != NULL)
        status = natsOptions_LoadCATrustedCertificates(to, ca);
    if (status == NATS_OK)
        status = natsOptions_SetName(to, name);
    if (status == NATS_OK)
        status = natsOptions_SetMaxReconnect(to, -1);
    return status == NATS_OK ? natsOptions_SetSendAsap(to, true) : status;
}

#endif
