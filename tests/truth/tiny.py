"""Tiny models with random weights, one of every family, as the transformers library makes and saves them.

A seed fixes every number. Sizes are small, but odd on purpose: heads that are not the width divided, fewer heads of
keys than of queries, windows shorter than the contexts that are tried, more layers than the longest pattern of them.
Weights are drawn wider than the library's own start, so that attention is sharp and no block is close to nothing.
"""
import json
import os

import torch
import transformers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

N_TOKENS = 320

CORPUS = ["the quick brown fox jumps over the lazy dog", "turn the heating up to twenty one degrees, please",
          "navigate home and avoid the motorway; it's 17:45 already", "play the next song", "123 4567 89"]

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN35 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


def byte_level(pattern):
    """A byte-level BPE that splits text by `pattern`: Llama 3's tries whole words first, Qwen's composes characters."""
    from tokenizers import trainers
    tokenizer = Tokenizer(models.BPE(ignore_merges=pattern == LLAMA3))
    if pattern != LLAMA3:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated", False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=N_TOKENS - 8, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  special_tokens=["<|begin|>", "<|end|>"], show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens([AddedToken("<tool>", special=False, normalized=False)])
    return tokenizer, "<|begin|>", "<|end|>"


def sentence_piece(prefix_blank):
    """SentencePiece's BPE with byte fallback, in the form of the tokenizers library."""
    blank = "\u2581"
    pieces = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % byte for byte in range(256)] + [blank]
    merges = []
    for pair in (("t", "h"), ("th", "e"), (blank, "the"), ("o", "n"), ("e", "r"), (blank, "t")):
        for piece in pair + (pair[0] + pair[1],):
            if piece not in pieces:
                pieces.append(piece)
        merges.append(pair)
    tokenizer = Tokenizer(models.BPE(vocab={piece: i for i, piece in enumerate(pieces)}, merges=merges,
                                     unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    steps = [normalizers.Prepend(blank)] if prefix_blank else []
    tokenizer.normalizer = normalizers.Sequence(steps + [normalizers.Replace(" ", blank)])
    tokenizer.decoder = decoders.Sequence([decoders.Replace(blank, " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer, "<s>", "</s>"


COMMON = dict(vocab_size=N_TOKENS, hidden_size=96, intermediate_size=160, num_hidden_layers=3, num_attention_heads=6,
              num_key_value_heads=2, max_position_embeddings=512, rms_norm_eps=1e-5, tie_word_embeddings=False,
              bos_token_id=0, eos_token_id=1, pad_token_id=None, attention_dropout=0.0)


def config(name, **over):
    return getattr(transformers, name + "Config")(**{**COMMON, **over})


def rope(theta=10000.0, kind="default", **more):
    return {"rope_theta": theta, "rope_type": kind, **more}


# name: (class in the library, tokenizer, configuration, longest context worth trying)
MODELS = {
    "llama": ("Llama", lambda: sentence_piece(True), lambda: config("Llama"), 70),
    "llama-tied": ("Llama", lambda: byte_level(LLAMA3), lambda: config(
        "Llama", tie_word_embeddings=True, head_dim=32, attention_bias=True), 70),
    "llama3-scaled": ("Llama", lambda: byte_level(LLAMA3), lambda: config(
        "Llama", num_key_value_heads=3, rope_parameters=rope(
            500000.0, "llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
            original_max_position_embeddings=64)), 200),
    "llama-linear": ("Llama", lambda: sentence_piece(True), lambda: config(
        "Llama", rope_parameters=rope(kind="linear", factor=4.0)), 70),
    "llama-yarn": ("Llama", lambda: sentence_piece(True), lambda: config(
        "Llama", rope_parameters=rope(kind="yarn", factor=8.0, original_max_position_embeddings=64)), 200),
    "mistral": ("Mistral", lambda: sentence_piece(True), lambda: config(
        "Mistral", sliding_window=33, head_dim=32), 100),
    "smollm3": ("SmolLM3", lambda: byte_level(LLAMA3), lambda: config(
        "SmolLM3", num_hidden_layers=5, tie_word_embeddings=True), 70),
    "qwen2": ("Qwen2", lambda: byte_level(QWEN2), lambda: config("Qwen2", rope_parameters=rope(1000000.0)), 70),
    "qwen3": ("Qwen3", lambda: byte_level(QWEN2), lambda: config(
        "Qwen3", head_dim=48, rope_parameters=rope(1000000.0)), 70),
    "gemma": ("Gemma", lambda: sentence_piece(False), lambda: config(
        "Gemma", head_dim=32, num_key_value_heads=1, tie_word_embeddings=True), 70),
    "gemma2": ("Gemma2", lambda: sentence_piece(False), lambda: config(
        "Gemma2", head_dim=32, num_hidden_layers=4, sliding_window=33, query_pre_attn_scalar=24,
        tie_word_embeddings=True), 100),
    "gemma3": ("Gemma3", lambda: sentence_piece(False), lambda: transformers.Gemma3TextConfig(**{
        **COMMON, "head_dim": 32, "num_hidden_layers": 7, "sliding_window": 33, "query_pre_attn_scalar": 32,
        "tie_word_embeddings": True, "rope_parameters": {
            "full_attention": rope(1000000.0, "linear", factor=8.0), "sliding_attention": rope(10000.0)}}), 100),
    "phi3": ("Phi3", lambda: sentence_piece(True), lambda: config("Phi3", sliding_window=33), 100),
    "phi3-longrope": ("Phi3", lambda: sentence_piece(True), lambda: config(
        "Phi3", original_max_position_embeddings=64, sliding_window=None, rope_parameters=rope(
            kind="longrope", original_max_position_embeddings=64,
            short_factor=[1.0 + 0.05 * i for i in range(8)], long_factor=[1.0 + 0.9 * i for i in range(8)])), 200),
    "qwen35": ("Qwen3_5", lambda: byte_level(QWEN35), lambda: transformers.Qwen3_5TextConfig(**{
        **COMMON, "head_dim": 32, "num_hidden_layers": 5, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
        "linear_key_head_dim": 16, "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4,
        "rope_parameters": rope(10000.0, partial_rotary_factor=0.25)}), 100),
    # The short factors: only within the first context.
    "phi3-longrope-short": ("Phi3", lambda: sentence_piece(True), lambda: config(
        "Phi3", max_position_embeddings=64, original_max_position_embeddings=64, sliding_window=None,
        rope_parameters=rope(
            kind="longrope", original_max_position_embeddings=64,
            short_factor=[1.0 + 0.05 * i for i in range(8)], long_factor=[1.0 + 0.9 * i for i in range(8)])), 63),
    # Rows that are whole blocks of every format.
    "wide": ("Qwen2", lambda: byte_level(QWEN2), lambda: config(
        "Qwen2", hidden_size=256, intermediate_size=512, num_attention_heads=4, num_hidden_layers=2), 40),
    "wide-llama": ("Llama", lambda: byte_level(LLAMA3), lambda: config(
        "Llama", hidden_size=256, intermediate_size=512, num_attention_heads=4, num_hidden_layers=2), 40),
}

CLASSES = {"Gemma3": "Gemma3ForCausalLM"}
# Norms that multiply by one more than the stored value.
LESS_ONE = ("Gemma", "Qwen3_5")


def widen(model):
    """Weights of a spread at which a wrong rotation, mask or norm can't hide."""
    generator = torch.Generator().manual_seed(20261129)
    for name, parameter in sorted(model.named_parameters()):
        noise = torch.randn(parameter.shape, generator=generator)
        if name.endswith("norm.weight"):
            less_one = type(model).__name__.startswith(LESS_ONE) and not name.endswith("linear_attn.norm.weight")
            parameter.data.copy_(0.3 * noise + (0.0 if less_one else 1.0))
        elif name.endswith("A_log"):
            parameter.data.copy_(0.5 * noise)
        elif name.endswith((".bias", "dt_bias")):
            parameter.data.copy_(0.2 * noise)
        elif "embed" in name:
            # Gemma multiplies by the root of the width: nothing else would be seen behind the embedding.
            parameter.data.copy_(noise / (parameter.shape[-1] ** 0.5 if "Gemma" in type(model).__name__ else 1.0))
        else:
            parameter.data.copy_(1.5 * noise / parameter.shape[-1] ** 0.5)
    model.tie_weights()


def make(name, folder, dtype=torch.float32):
    """Makes the model `name`, saves it below `folder` in `dtype`, and returns the saved model in float32."""
    kind, words, settings, _ = MODELS[name]
    torch.manual_seed(1)
    made = settings()
    made._attn_implementation = "eager"
    cls = getattr(transformers, CLASSES.get(kind, kind + "ForCausalLM"))
    model = cls(made).eval()
    widen(model)
    # Only the saved tensors are rounded: a whole model in half precision would round its frequencies as well.
    for parameter in model.parameters():
        parameter.data = parameter.data.to(dtype).float()
    os.makedirs(folder, exist_ok=True)
    model.save_pretrained(folder, state_dict={key: value.to(dtype) for key, value in model.state_dict().items()})
    tokenizer, bos, eos = words()
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as out:
        json.dump({"bos_token": bos, "eos_token": eos,
                   "chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"}, out)
    return model
