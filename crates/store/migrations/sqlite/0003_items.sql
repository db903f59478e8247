-- Prompts, resources and resource templates of a version, beside its tools: {"prompts":[…],"resources":[…],…}.
ALTER TABLE tool_sets ADD COLUMN items TEXT NOT NULL DEFAULT '{}';
