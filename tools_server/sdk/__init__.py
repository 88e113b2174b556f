"""What a tool file is written with: `@tool`, its call and result, tables of its own, and words for what it says."""
