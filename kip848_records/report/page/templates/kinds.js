// The words of each kind of group, and what depends on its traits: `kinds.py` has them.

const kindOf = (group) => data.kinds[group.kind];
const titled = (words) => words[0].toUpperCase() + words.slice(1);
const plainly = (name) => (name ?? "").replaceAll("_", " ");
