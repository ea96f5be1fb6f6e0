// The words of each kind of group, and what depends on its traits: `kinds.py` has them.

const kindOf = (group) => data.kinds[group.kind] ?? data.kinds.consumer;
const titled = (words) => words[0].toUpperCase() + words.slice(1);
const ownerText = (group) => `${/^[aeiou]/.test(kindOf(group).owner) ? "an" : "a"} ${kindOf(group).owner}`;
const plainly = (name) => (name ?? "").replaceAll("_", " ");
/** Return the words of the states that members of a kind of group can have. */
function statesOf(group) {
  const { reconciled, behind, revoking, away, unknown } = STATES;
  const { shares_units: isShared, keeps_absent_members: keepsAbsent, units } = kindOf(group);
  return { reconciled, behind, ...(isShared ? {} : { revoking, waiting: `waiting for ${units}` }), ...(keepsAbsent ? { away } : {}), unknown };
}
