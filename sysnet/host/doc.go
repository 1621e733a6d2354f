// Package host prepares this machine for kernel farms, apart from the packet filter. It
// enables forwarding (sysctl), lets packets pass foreign firewalls (firewall), announces
// addresses to neighbours (announce), and deletes conntrack entries of removed backends
// (conntrack).
//
// # The way through it
//
// Prepare gets the complete current needs and reverts everything that is no longer
// needed. Run repeats this periodically, because other programs change the machine too, and
// soon after a change of a foreign firewall.
// Parts implements the operations for mgmt: list and flush connections, list everything
// that was set, and remove all of it (clean).
//
// # After a crash
//
// Old values of sysctls are in a journal, our rules in foreign tables have a tag, and
// conntrack entries have a mark. The first Prepare of a new process finds and removes
// leftovers.
package host
