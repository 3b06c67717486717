// always_inline.h: for the few functions that sources built for different instruction sets share. An ordinary inline
// function may be emitted out of line once per source, and the linker keeps any one of them: perhaps the one that this
// machine's processor cannot run. These are never emitted out of line.
#pragma once

#define BITSIEVE_ALWAYS_INLINE [[gnu::always_inline]] inline
