"""The stages of a study; each reads files, writes files, and resumes by content hash.

pool → fingerprint → select → (per arm and seed) sft → grpo → evaluate → report
"""
