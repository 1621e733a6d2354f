// Package firewall finds what the firewalls of others would do to packets of
// farms that are passed on, and opens exactly those packets where it can.
//
// # What others do
//
// Rules that end in a drop for everything not allowed before are common where
// Docker, ufw or an operator looks after iptables. A packet of a farm has to
// pass every such chain: an accept in one table is no accept in another.
//
// # What is done about it
//
// In iptables (v4 and v6, the nft and the legacy kind) one rule per kind of
// packet is inserted, tagged by its comment, which accepts packets by the mark
// farms give them and nothing else. It stands as late as it can: after what
// the operator refuses by name, before what refuses everything (chain.go). With
// Docker that is its chain for operators, DOCKER-USER, which Docker keeps in
// front of its own. Nothing else is touched; the rule goes with the last farm
// that needs it, and what a crash left behind goes with the next Keep.
//
// A table of nft that somebody wrote with a dropping policy cannot be opened
// from outside, and writing into it would be touching it: Keep returns a
// warning that says which one it is and what its owner may add (forward.go). Each
// kind of packets is followed through the chains of the table: those of nat and
// dnat, which have the mark on their connection, and those of stateless dnat,
// which have it themselves; of each family and protocol. The advice is for both
// kinds, so that it holds for later farms.
//
// # Farms the engine carries
//
// Their clients come in by the input hook. Dropped walks what others have there,
// in nft and iptables, with the first packet of a new client, and names the
// chains that drop it for certain with the rules they miss (walk.go). A
// condition that is not understood may hold or not, so that it proves nothing.
// Nothing is opened there.
//
// Only the filter tables are looked at. iptables tables that do not exist are
// not brought into being by looking: the kernel is asked first.
package firewall
