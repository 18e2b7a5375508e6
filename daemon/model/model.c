#include "model/model.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include "model/builder.h"
#include "model/private.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define NUMERICS_VERSION  1    /* of the arithmetic in kern.h; rises when bits change */
#define CONTEXT_DEFAULT   8192 /* tokens: enough for a voice assistant, in little memory */
#define CONTEXTS_DEFAULT  4    /* full contexts that fit the pool */
#define SEQUENCES_DEFAULT 32
#define ROWS_DEFAULT      512 /* of a step */
#define SUBMISSION_PARTS  64  /* at most, where parts are quick */
#define SAMPLING_SPEED    100 /* logits looked at in a microsecond, before it is measured: a slow core's */
_Static_assert(STEP_MAX == EXEC_SCRATCHES, "each begun step has activations of its own");

/* ---- the file ---- */

static int map_file(struct model *model, int fd, struct diag *diag)
{
    struct stat about;
    void *file;

    if (fstat(fd, &about) != 0) {
        return err_new(-errno);
    }
    if (!S_ISREG(about.st_mode) || about.st_size <= 0) {
        diag_set(diag, "the model is %s", S_ISREG(about.st_mode) ? "an empty file" : "no regular file");
        return MODEL_REFUSED;
    }
    file = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED) {
        return err_new(-errno);
    }
    model->file = file;
    model->file_bytes = (uint64_t)about.st_size;
    /* Lets the kernel read ahead while the head is being checked; it may ignore that. */
    (void)madvise(file, model->file_bytes, MADV_WILLNEED);
    return MODEL_OK;
}

static int parse_file(const struct model *model, struct gguf **ret_gguf, struct diag *diag)
{
    uint64_t n_wanted;
    int r = gguf_parse(ret_gguf, model->file, model->file_bytes, model->file_bytes, &n_wanted, diag);

    if (r == GGUF_MORE) {
        diag_set(diag, "the file ends after %llu bytes, inside its head", (unsigned long long)model->file_bytes);
    }
    return r < 0 ? err_up(r) : r ? MODEL_REFUSED : MODEL_OK;
}

/* Sums the elements and bytes of all tensors, and finds the type of most elements. */
static void weigh(struct model *model, const struct gguf *gguf)
{
    uint64_t n_of[ELEM_TYPE_COUNT] = { 0 };
    uint32_t most = ELEM_F32;

    for (size_t i = 0; i < gguf_n_tensors(gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(gguf, i);
        uint64_t n = tensor->dims[0] * tensor->dims[1] * tensor->dims[2] * tensor->dims[3];

        model->facts.n_parameters += n;
        model->facts.weight_bytes += tensor->n_bytes;
        if (tensor->type < ELEM_TYPE_COUNT) {
            n_of[tensor->type] += n;
            most = n_of[tensor->type] > n_of[most] ? tensor->type : most;
        }
    }
    model->facts.format = elem_info(most)->name;
}

/* ---- the backend ---- */

static int open_backend(struct model *model, const struct model_setup *setup, struct diag *diag)
{
    struct exec_facts facts;
    int r = exec_open(&model->exec,
                      &(struct exec_setup){ .backends = setup->backends,
                                            .backend = setup->backend,
                                            .cpu_mask = setup->cpu_mask,
                                            .fake_script = setup->fake_script,
                                            .n_threads = setup->n_threads },
                      diag);

    if (r) {
        return r < 0 ? err_up(r) : MODEL_REFUSED;
    }
    exec_facts(model->exec, &facts);
    snprintf(model->facts.threads, sizeof(model->facts.threads), "%s", facts.threads ? facts.threads : "");
    snprintf(model->facts.backend, sizeof(model->facts.backend), "%s%s%s", facts.backend, *facts.set ? "/" : "",
             facts.set);
    snprintf(model->facts.numerics, sizeof(model->facts.numerics), "%d/%s/%s/kv-%s", NUMERICS_VERSION, facts.backend,
             facts.arithmetic, setup->kv_format);
    return MODEL_OK;
}

static int choose_kv(const struct model *model, const struct model_setup *setup, struct exec_kv_shape *ret_shape,
                     struct diag *diag)
{
    static const char *const names[EXEC_KV_FORMAT_COUNT] = {
        [EXEC_KV_F16] = "f16", [EXEC_KV_F32] = "f32", [EXEC_KV_Q8] = "q8", [EXEC_KV_Q4] = "q4"
    };

    for (int i = 0; i < EXEC_KV_FORMAT_COUNT; i++) {
        if (names[i] && strcmp(setup->kv_format, names[i]) == 0) {
            *ret_shape = (struct exec_kv_shape){ .n_layers = model->params.n_layers - model->params.n_recurrent,
                                                 .n_kv_heads = model->params.n_kv_heads,
                                                 .head_dim = model->params.head_dim,
                                                 .format = (enum exec_kv_format)i };
            return MODEL_OK;
        }
    }
    diag_blame(diag, "kv_format", "KV format \"%s\" is not known; there are f16, f32, q8 and q4", setup->kv_format);
    return MODEL_REFUSED;
}

/*
 * Sets context and pool. The context is as trained, by default at most CONTEXT_DEFAULT; a larger request gets what the
 * model was trained for and the pool can hold. model_facts() reports what is in force.
 */
static int size_pool(struct model *model, const struct model_setup *setup, struct exec_kv_shape *shape,
                     struct diag *diag)
{
    uint64_t page_bytes = exec_kv_page_bytes(shape);
    uint64_t n_pages;

    model->n_context =
        (uint32_t)num_min(setup->n_context ? setup->n_context : CONTEXT_DEFAULT, model->params.n_trained);
    n_pages = num_div_up(model->n_context, KV_PAGE_TOK) * CONTEXTS_DEFAULT;
    if (setup->kv_bytes) {
        n_pages = page_bytes ? setup->kv_bytes / page_bytes : 0;
    }
    n_pages = num_min(n_pages, UINT32_MAX);
    if (n_pages == 0) {
        diag_blame(diag, "kv_bytes", "%llu bytes hold no page of keys and values, which takes %llu",
                   (unsigned long long)setup->kv_bytes, (unsigned long long)page_bytes);
        return MODEL_REFUSED;
    }
    shape->n_pages = (uint32_t)n_pages;
    model->n_context = (uint32_t)num_min(model->n_context, n_pages * KV_PAGE_TOK);
    model->kv_ceiling = n_pages * page_bytes;
    model->facts.kv_token_bytes = (uint32_t)(page_bytes / KV_PAGE_TOK);
    return MODEL_OK;
}

static int create_pool(struct model *model, const struct model_setup *setup, struct diag *diag)
{
    struct exec_kv_shape shape;
    int r = choose_kv(model, setup, &shape, diag);

    r = r ? r : size_pool(model, setup, &shape, diag);
    r = r ? r : exec_alloc_kv(model->exec, &shape, &model->kv_mem, diag);
    if (r) {
        return r < 0 ? err_up(r) : MODEL_REFUSED;
    }
    r = states_create(&model->states, model->exec, &model->params, model->n_sequences, diag);
    if (r) {
        return r < 0 ? err_up(r) : MODEL_REFUSED;
    }
    model->facts.n_decode = model->states.mem ? 1 : STEP_TOKENS_MAX;
    r = kv_create(&model->kv, shape.n_pages, exec_kv_page_bytes(&shape), setup->prefix_hash);
    return r ? err_up(r) : MODEL_OK;
}

/* ---- programs ---- */

static int record_program(struct model *model, uint32_t place, const struct arch_source *source, uint32_t n_rows,
                          struct diag *diag)
{
    struct step *step = &model->steps[place];
    struct model_program *program = &step->programs[step->n_programs];
    int r;

    r = exec_program_create(model->exec, place, n_rows, (uint32_t)num_min(n_rows, model->n_sequences), &program->exec);
    if (r) {
        return err_up(r);
    }
    program->n_rows = n_rows;
    program->logits = model->arch->record(source, program->exec);
    program->hidden = exec_find_slot(program->exec, BUILDER_HIDDEN);
    r = exec_seal(program->exec, diag);
    if (r) {
        return r < 0 ? err_up(r) : MODEL_REFUSED;
    }
    step->n_programs++;
    return MODEL_OK;
}

static int record_programs(struct model *model, struct diag *diag)
{
    /* one row, a few streams, many streams, a prompt */
    const uint32_t buckets[MODEL_BUCKETS] = { 1, 8, 64, model->n_rows };
    struct exec_mem *rope;
    struct exec_mem *rope_local;
    struct arch_source source = { .params = &model->params, .weights = &model->weights, .kv = model->kv_mem };
    int r;

    r = arch_make_ropes(&model->params, &model->weights, model->n_context, model->exec, &rope, &rope_local);
    if (r) {
        return err_up(r);
    }
    source.rope = rope;
    source.states = model->states.mem;
    source.rope_local = rope_local;
    for (uint32_t i = 0; i < MODEL_BUCKETS * STEP_MAX; i++) {
        uint32_t bucket = i % MODEL_BUCKETS;

        if (bucket < MODEL_BUCKETS - 1 && buckets[bucket] >= model->n_rows) {
            continue; /* the last bucket serves it */
        }
        r = record_program(model, i / MODEL_BUCKETS, &source, buckets[bucket], diag);
        if (r) {
            return err_pass(r);
        }
    }
    return MODEL_OK;
}

/*
 * Runs one row through page 0, which no sequence holds yet: every page of the weights is mapped, every worker has
 * woken, and the first request finds a warm engine.
 */
static int warm_up(struct model *model)
{
    static const uint32_t zeros[1] = { 0 };
    const uint32_t *pages[1] = { zeros };
    struct exec_program *program = model->steps[0].programs[0].exec;
    uint64_t ticket;
    int r;

    r = exec_bind(program, &(struct exec_batch){ .n_rows = 1,
                                                 .tokens = zeros,
                                                 .positions = zeros,
                                                 .pages = pages,
                                                 .states = zeros,
                                                 .n_wanted = 1,
                                                 .wanted = zeros });
    while (!r && exec_is_left(program)) {
        r = exec_submit(program, SUBMISSION_PARTS, 0, &ticket);
        while (!r && (r = exec_wait(model->exec, ticket, 1000)) == EXEC_PENDING) {
            r = 0;
        }
    }
    return r ? err_up(r) : 0;
}

/* ---- life ---- */

static int create_tables(struct model *model)
{
    int r;

    map_init(&model->seqs, MEM_SCRATCH);
    list_init(&model->closed);
    list_init(&model->pins);
    r = map_reserve(&model->seqs, model->n_sequences);
    for (uint32_t i = 0; !r && i < STEP_MAX; i++) {
        r = step_create(model, &model->steps[i]);
    }
    return r ? err_up(r) : 0;
}

static void state_facts(struct model *model)
{
    struct mem_account copied;

    mem_read(MEM_WEIGHTS, &copied);
    model->facts.architecture = model->arch->name;
    model->facts.n_vocab = model->params.n_tokens;
    model->facts.shares = !model->arch->never_shares;
    model->facts.n_hidden = model->params.pooling != POOLING_NONE ? model->params.n_embd : 0;
    model->facts.n_trained = model->params.n_trained;
    model->facts.n_context = model->n_context;
    model->facts.n_page_tok = KV_PAGE_TOK;
    model->facts.n_pages = model->kv.n_pages;
    model->facts.weight_bytes += copied.bytes;
}

/* Does everything that reads the file's head. */
static int load(struct model *model, const struct model_setup *setup, struct diag *diag)
{
    cleanup(gguf_destroyp) struct gguf *gguf = NULL;
    int r = parse_file(model, &gguf, diag);

    r = r ? r : arch_find(gguf, &model->arch, diag);
    r = r ? r : arch_read_params(model->arch, gguf, &model->params, diag);
    r = r ? r : open_backend(model, setup, diag);
    r = r ? r : arch_bind(model->arch, &model->params, gguf, model->file, model->exec, &model->weights, diag);
    if (!r) {
        weigh(model, gguf);
    }
    return err_pass(r);
}

/* Adds to the numerics which of two lists of rotary factors the context chooses, since the lists give different
 * bits. */
static void name_factors(struct model *model)
{
    size_t used = strlen(model->facts.numerics);

    if (model->weights.rope_long) {
        snprintf(model->facts.numerics + used, sizeof(model->facts.numerics) - used, "/rope-%s",
                 arch_is_stretched(&model->params, model->n_context) ? "long" : "short");
    }
}

static int prepare(struct model *model, const struct model_setup *setup, struct diag *diag)
{
    int r = create_pool(model, setup, diag);

    if (!r) {
        name_factors(model);
        r = record_programs(model, diag);
    }
    r = r ? r : create_tables(model);
    return err_pass(r);
}

static void tell(model_progress_fn progress, void *owner, float fraction, const char *phase)
{
    if (progress) {
        progress(owner, fraction, phase);
    }
}

int model_open(struct model **ret_model, const struct model_setup *setup, model_progress_fn progress, void *owner,
               struct diag *diag)
{
    cleanup(model_closep) struct model *model = NULL;
    int r;

    model = mem_calloc(MEM_MISC, 1, sizeof(*model));
    if (!model) {
        return err_new(-ENOMEM);
    }
    model->n_rows = setup->n_rows ? setup->n_rows : ROWS_DEFAULT;
    model->n_sequences = setup->n_sequences ? setup->n_sequences : SEQUENCES_DEFAULT;
    model->n_parts_max = setup->n_parts ? setup->n_parts : SUBMISSION_PARTS;
    model->sampling_speed = SAMPLING_SPEED;

    tell(progress, owner, 0.0f, "mapping");
    r = map_file(model, setup->fd, diag);
    if (!r) {
        tell(progress, owner, 0.1f, "checking");
        r = load(model, setup, diag);
    }
    r = r ? r : prepare(model, setup, diag);
    if (!r) {
        tell(progress, owner, 0.5f, "warming");
        r = warm_up(model);
    }
    if (r) {
        return err_pass(r);
    }
    state_facts(model);
    tell(progress, owner, 1.0f, "ready");
    *ret_model = steal(&model);
    return MODEL_OK;
}

void model_close(struct model *model)
{
    if (!model) {
        return;
    }
    if (model->closed.next) { /* create_tables() has set the lists up */
        seq_close_all(model);
        map_finish(&model->seqs);
        pin_drop_all(model);
    }
    for (uint32_t i = 0; i < STEP_MAX; i++) {
        step_finish(&model->steps[i]);
    }
    kv_finish(&model->kv);
    states_finish(&model->states);
    exec_close(model->exec);
    mem_free(model->weights.layers);
    if (model->file) {
        munmap((void *)model->file, model->file_bytes);
    }
    mem_free(model);
}

void model_closep(struct model **model)
{
    model_close(*model);
    *model = NULL;
}

/* ---- figures ---- */

void model_facts(const struct model *model, struct model_facts *ret_facts)
{
    *ret_facts = model->facts;
}

void model_figures(const struct model *model, struct model_figures *ret_figures)
{
    *ret_figures = model->figures;
    ret_figures->n_free = model->kv.n_free;
    ret_figures->n_cached = model->kv.n_cached;
    ret_figures->n_held = model->kv.n_held;
    ret_figures->n_evicted = model->kv.n_evicted;
    ret_figures->n_seqs = (uint32_t)model->seqs.n;
}

bool model_check(const struct model *model)
{
    return kv_check(&model->kv);
}

void model_limit_kv(struct model *model, uint64_t kv_bytes)
{
    kv_limit(&model->kv, kv_bytes ? num_min(kv_bytes, model->kv_ceiling) : model->kv_ceiling);
}
