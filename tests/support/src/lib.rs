//! What the tests and the demo share: a sealed world, a scripted provider, the pinned Claude Code.
