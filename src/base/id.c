/* SPDX-License-Identifier: BSD-3-Clause */
/* Safety. An entry holds {key, object}. `key` is the id while the object lives and another value
 * before and after: an id is {generation:32, type:4, index:28}, and the generation of an entry
 * grows each time it is given out. rd_id_new writes the object, then releases the key; rd_id_find
 * acquires the key, reads the object, and reads the key again, so it never pairs a key with a later
 * object. rd_id_retire takes the key by CAS: one winner. Chunks of entries are published once and
 * never freed; new ids and free entries are under a lock, finding is not. */
#include "src/base/id.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <pthread.h>
#include <string.h>

enum { INDEX_BITS = 28, TYPE_BITS = 4, CHUNK_BITS = 12, CHUNK = 1 << CHUNK_BITS };
enum { CHUNKS = 1 << (INDEX_BITS - CHUNK_BITS) };

struct entry {
    rd_atomic64 key;
    rd_atomic(void *) object;
    uint32_t generation; /* under the lock */
    uint32_t next_free;  /* under the lock; index + 1 */
};

static rd_atomic(struct entry *) chunks[CHUNKS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t used, free_list; /* under the lock */

static struct entry *entry_at(uint32_t index)
{
    /* Acquire: pairs with the release in take_entry, the chunk's zeroes before its address. */
    struct entry *chunk = rd_load_acquire(&chunks[index >> CHUNK_BITS]);
    return chunk ? &chunk[index & (CHUNK - 1)] : NULL;
}

static struct entry *take_entry(uint32_t *index)
{
    struct entry *e;
    if (free_list) {
        *index = free_list - 1;
        e = entry_at(*index);
        free_list = e->next_free;
        return e;
    }
    if (used == 1u << INDEX_BITS)
        return NULL;
    if (!(used & (CHUNK - 1))) {
        e = rd_zalloc(rd_allocator_system(), CHUNK * sizeof *e, 64);
        if (!e)
            return NULL;
        rd_store_release(&chunks[used >> CHUNK_BITS], e);
    }
    *index = used++;
    return entry_at(*index);
}

uint64_t rd_id_new(enum rd_id_type type, void *object)
{
    uint32_t index;
    uint64_t id = 0;
    struct entry *e;
    pthread_mutex_lock(&lock);
    e = take_entry(&index);
    if (e) {
        if (!++e->generation)
            e->generation = 1;
        id = (uint64_t)e->generation << 32 | (uint64_t)type << INDEX_BITS | index;
        rd_store_relaxed(&e->object, object); /* ordered by the release of the key */
        rd_store_release(&e->key, id);        /* pairs with the acquire in rd_id_find */
    }
    pthread_mutex_unlock(&lock);
    return id;
}

static struct entry *entry_of(uint64_t id, enum rd_id_type type)
{
    uint32_t low = (uint32_t)id;
    if (low >> INDEX_BITS != (uint32_t)type)
        return NULL;
    return entry_at(low & ((1u << INDEX_BITS) - 1));
}

void *rd_id_find(uint64_t id, enum rd_id_type type)
{
    struct entry *e = entry_of(id, type);
    void *object;
    if (!e || rd_load_acquire(&e->key) != id)
        return NULL;
    object = rd_load_acquire(&e->object); /* orders the second look behind it */
    return rd_load_relaxed(&e->key) == id ? object : NULL;
}

void *rd_id_retire(uint64_t id, enum rd_id_type type)
{
    struct entry *e = entry_of(id, type);
    uint64_t key = id;
    void *object;
    if (!e || !id)
        return NULL;
    pthread_mutex_lock(&lock);
    if (!rd_cas_acq_rel(&e->key, &key, 0)) {
        pthread_mutex_unlock(&lock);
        return NULL;
    }
    object = rd_load_relaxed(&e->object);
    e->next_free = free_list;
    free_list = (uint32_t)(id & ((1u << INDEX_BITS) - 1)) + 1;
    pthread_mutex_unlock(&lock);
    return object;
}

int rd_id_swap(uint64_t id, enum rd_id_type type, const void *was, void *object)
{
    struct entry *e = entry_of(id, type);
    int swapped;
    if (!e || !id)
        return 0;
    pthread_mutex_lock(&lock);
    swapped = rd_load_relaxed(&e->key) == id && rd_load_relaxed(&e->object) == was;
    if (swapped)
        rd_store_release(&e->object, object); /* pairs with the acquire in rd_id_find */
    pthread_mutex_unlock(&lock);
    return swapped;
}

uint64_t rd_id_next(enum rd_id_type type, uint32_t *cursor)
{
    struct entry *e;
    uint64_t key;
    while (*cursor < 1u << INDEX_BITS && (e = entry_at(*cursor)) != NULL) {
        ++*cursor;
        key = rd_load_acquire(&e->key);
        if (key && (uint32_t)key >> INDEX_BITS == (uint32_t)type)
            return key;
    }
    return 0;
}

rondo_status rd_id_error(uint64_t id, enum rd_id_type type)
{
    static const char *const names[] = { "none", "runtime", "buffer",     "subgraph",
                                         "exec", "counter", "completion", "loop" };
    uint32_t is = (uint32_t)id >> INDEX_BITS;
    if (!id)
        return rd_error(RONDO_ERR_INVALID, "%s: the handle is {0}", names[type]);
    if (is != (uint32_t)type)
        return rd_error(RONDO_ERR_INVALID, "%s: handle 0x%llx is %s's", names[type],
                        (unsigned long long)id,
                        is < sizeof names / sizeof *names ? names[is] : "no object");
    return rd_error(RONDO_ERR_STALE, "%s: handle 0x%llx is stale, its object was destroyed",
                    names[type], (unsigned long long)id);
}
