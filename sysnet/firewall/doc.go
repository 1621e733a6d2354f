// Package firewall determines how foreign firewalls treat the forwarded packets of farms,
// and lets exactly those packets pass where it can.
//
// # Foreign firewalls
//
// Chains that drop everything not accepted earlier are common where Docker, ufw or an
// operator manages iptables. A packet of a farm must pass each of these chains: an accept
// verdict in one table does not apply to other tables.
//
// # Rules of Sluice
//
// In iptables (IPv4 and IPv6, nft and legacy) Keep inserts one rule per kind of packet,
// tagged by its comment. The rule accepts packets with the mark of farms and no others.
// It is placed as late as possible: after the operator's specific rules and before the
// rule that drops everything (chain.go). With Docker it is placed in DOCKER-USER, the
// chain for operators, which Docker keeps before its own chains. Nothing else is changed.
// The rule is removed with the last farm that needs it. Rules left by a crash are removed
// by the next Keep. Other programs may delete the rule, for example when a firewall is
// reloaded. Changed reports that Keep must be called again.
//
// A foreign nft table with policy drop cannot be opened from another table, and Keep does
// not modify foreign tables. It returns a warning instead, which names the table and the
// rule that its owner may add (forward.go). The chains of the table are evaluated for
// each kind of packet, family and protocol. Connections of nat and dnat farms have the
// mark; packets of stateless dnat have it themselves. The advice covers both kinds so
// that it also applies to later farms.
//
// # Rules for some backends
//
// An operator's rule such as "tcp dport 8080 drop" may precede ours, or be part of a chain
// that accepts everything else. Blocked evaluates the foreign chains at the forward hook for
// the first packet of a new client to each backend. The packet has the address and port of
// the backend, as the chains see it (destination.go).
//
// # Farms in userspace
//
// Their clients arrive at the input hook. Dropped evaluates the foreign chains of nft and
// iptables at that hook, and the nft chains at prerouting, for the first packet of a new
// client. It names the chains that certainly drop it and the missing rules (walk.go). An
// unknown condition proves nothing. Nothing is opened there.
//
// Only filter tables are examined. The kernel is asked first whether an iptables table
// exists, because listing it would create it.
package firewall
